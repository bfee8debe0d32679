/** CertificateSigningRequests, through the server: requester, approver and signer. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, sampleRequest, TestServer } from "../../../testing/index.ts";
import { itRejects } from "../rejection-cases.ts";
import { requestLengthMax } from "./request-rules.ts";
import { certificate } from "./test-vectors.ts";

const path = "/clusters/a/apis/certificates.k8s.io/v1/certificatesigningrequests";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const spec = { request: sampleRequest, signerName: "example.com/signer", usages: ["client auth"] };

function create(name: string, user: "a" | "admin" = "admin"): Promise<AnyObject> {
  return server.requestOk("POST", path, { body: { metadata: { name }, spec }, user });
}

const approved = { type: "Approved", status: "True", reason: "Test" };
const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("certificate signing requests", () => {
  it("record the authenticated requester, whatever the request contains, and begin without a decision", async () => {
    const created = await server.requestOk("POST", path, {
      user: "a",
      body: {
        metadata: { name: "mine" },
        spec: { ...spec, username: "system:admin", groups: ["system:masters"], uid: "1" },
        status: { conditions: [approved], certificate: base64(certificate) },
      },
    });
    assert.deepEqual(created["spec"], { ...spec, username: "a", groups: ["system:authenticated"] });
    assert.deepEqual(created["status"], {});
  });

  it("keep their spec, and their status through the main endpoint", async () => {
    const before = await create("fixed");
    const answer = await server.request("PUT", `${path}/fixed`, {
      body: {
        metadata: { name: "fixed", labels: { l: "1" } },
        spec: { ...spec, signerName: "example.com/other" },
        status: { conditions: [approved] },
      },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.object["spec"], before["spec"]);
    assert.deepEqual(answer.object["status"], {});
    assert.equal(answer.object.metadata.labels?.["l"], "1");
  });

  it("are approved through approval, which sets the time and changes nothing else", async () => {
    await create("approved");
    const answer = await server.patch(`${path}/approved/approval`, "merge", {
      spec: { signerName: "example.com/other" },
      status: { conditions: [approved] },
    });
    assert.equal(answer.status, 200, answer.text);
    const { conditions } = answer.object["status"] as { conditions: Record<string, string>[] };
    const now = answer.object.metadata["creationTimestamp"];
    assert.deepEqual(conditions, [{ ...approved, lastUpdateTime: now, lastTransitionTime: now }]);
    assert.equal((answer.object["spec"] as typeof spec).signerName, spec.signerName);
  });

  it("are signed through status, once", async () => {
    await create("signed");
    await server.patch(`${path}/signed/approval`, "merge", { status: { conditions: [approved] } });
    const sign = (text: string) =>
      server.patch(`${path}/signed/status`, "merge", { status: { certificate: base64(text) } });
    assert.match(
      (await sign("nonsense")).object.message ?? "",
      /status\.certificate: Invalid value: "<certificate data>": must contain at least one/,
    );
    assert.equal((await sign(certificate)).status, 200);
    assert.match(
      (await sign(certificate + certificate)).object.message ?? "",
      /status\.certificate: Forbidden: updates may not modify existing certificate content$/,
    );
    const row = await server.get(`${path}/signed`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    const [{ cells }] = row.object["rows"] as [{ cells: unknown[] }];
    assert.deepEqual(cells.slice(2), [
      "example.com/signer",
      "kcp-admin",
      "<none>",
      "Approved,Issued",
    ]);
  });

  const changes: [endpoint: string, status: object, says: RegExp][] = [
    ["status", { conditions: [approved] }, /updates may not add a condition of type "Approved"$/],
    ["approval", { certificate: base64(certificate), conditions: [] }, /^$/],
    [
      "approval",
      { conditions: [approved, { type: "Denied", status: "True" }] },
      /status\.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive$/,
    ],
    [
      "approval",
      { conditions: [{ type: "Approved", status: "False" }] },
      /status\.conditions\[0\]\.status: Unsupported value: "False": supported values: "True"$/,
    ],
    ["approval", { conditions: [{ type: "X" }] }, /conditions\[0\]\.status: Required value$/],
    [
      "approval",
      {
        conditions: [
          { type: "X", status: "True" },
          { type: "X", status: "True" },
        ],
      },
      /conditions\[1\]\.type: Duplicate value: "X"$/,
    ],
  ];
  for (const [i, [endpoint, status, says]] of changes.entries()) {
    it(`${endpoint} with ${JSON.stringify(status).slice(0, 60)}: ${says.source}`, async () => {
      await create(`change-${i}`);
      const { object } = await server.patch(`${path}/change-${i}/${endpoint}`, "merge", { status });
      assert.match(object.message ?? "", says);
      const after = (await server.get(`${path}/change-${i}`)).object["status"] as AnyObject;
      assert.equal(after["certificate"], undefined);
    });
  }

  it("keep their decision", async () => {
    await create("decided");
    const approval = `${path}/decided/approval`;
    await server.patch(approval, "merge", { status: { conditions: [approved] } });
    const { object } = await server.patch(approval, "merge", { status: { conditions: [] } });
    assert.match(object.message ?? "", /updates may not remove a condition of type "Approved"$/);
  });

  it("are selected by their signer", async () => {
    await create("selected");
    const { names } = await server.get(
      `${path}?fieldSelector=spec.signerName%3Dexample.com/signer,metadata.name%3Dselected`,
    );
    assert.deepEqual(names, ["selected"]);
    assert.deepEqual((await server.get(`${path}?fieldSelector=spec.signerName%3Dx`)).names, []);
  });

  itRejects(() => server, "POST", path, { metadata: { name: "x" } }, [
    [
      { spec: { ...spec, request: base64("x") } },
      `spec.request: Invalid value: "${base64("x")}": PEM block type must be CERTIFICATE REQUEST`,
    ],
    [
      { spec: { ...spec, request: "A".repeat(requestLengthMax + 4) } },
      "spec.request: Too long: may not be more than 65536 bytes",
    ],
    [
      { spec: { ...spec, request: "A".repeat(requestLengthMax) } },
      /PEM block type must be CERTIFICATE REQUEST$/,
    ],
    [
      { spec: { ...spec, usages: Array.from({ length: 70_000 }, (_, i) => `u${i}`) } },
      /^\[spec\.usages\[0\]: Unsupported value: "u0": .*spec\.usages\[23\]: Unsupported/,
    ],
    [{ spec: { ...spec, usages: [] } }, "spec.usages: Required value"],
    [
      { spec: { ...spec, usages: ["flying"] } },
      /^spec\.usages\[0\]: Unsupported value: "flying": supported values: "any", "cert sign"/,
    ],
    [{ spec: { ...spec, usages: ["any", "any"] } }, 'spec.usages[1]: Duplicate value: "any"'],
    [{ spec: { ...spec, signerName: "" } }, "spec.signerName: Required value"],
    [
      { spec: { ...spec, signerName: "a.b" } },
      "spec.signerName: Invalid value: \"a.b\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
    ],
    [
      { spec: { ...spec, signerName: "example/x" } },
      'spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots',
    ],
    [
      { spec: { ...spec, signerName: "kubernetes.io/legacy-unknown" } },
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
    [
      { spec: { ...spec, expirationSeconds: 599 } },
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
    ],
  ]);
});
