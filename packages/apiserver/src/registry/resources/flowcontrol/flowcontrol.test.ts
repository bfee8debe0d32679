import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../../../testing/index.ts";
import { itRejects } from "../rejection-cases.ts";

const base = "/clusters/root/apis/flowcontrol.apiserver.k8s.io/v1";
const schemas = `${base}/flowschemas`;
const levels = `${base}/prioritylevelconfigurations`;

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const rule = {
  subjects: [{ kind: "User", user: { name: "a" } }],
  resourceRules: [
    { verbs: ["get"], apiGroups: ["*"], resources: ["configmaps"], namespaces: ["*"] },
  ],
};
const schemaSpec = { priorityLevelConfiguration: { name: "mine" }, rules: [rule] };
const limited = { limitResponse: { type: "Queue", queuing: {} } };
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

describe("FlowSchemas", () => {
  it("have defaults, a generation, columns, and a status that only /status writes", async () => {
    const made = await server.requestOk("POST", schemas, {
      body: { metadata: { name: "shown" }, spec: schemaSpec, status: { conditions: [] } },
    });
    assert.equal(made.metadata["generation"], 1);
    assert.equal((made["spec"] as { matchingPrecedence: number }).matchingPrecedence, 1000);
    assert.deepEqual(made["status"], {});
    const dangling = { conditions: [{ type: "Dangling", status: "True" }] };
    const patched = await server.patch(`${schemas}/shown/status`, "merge", { status: dangling });
    assert.deepEqual(patched.object["status"], dangling);
    const { object } = await server.get(`${schemas}/shown`, { headers: table });
    const { columnDefinitions, rows } = object as unknown as {
      columnDefinitions: { name: string }[];
      rows: { cells: unknown[] }[];
    };
    assert.deepEqual(
      columnDefinitions.map(({ name }) => name),
      ["Name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"],
    );
    assert.deepEqual(rows[0]?.cells, ["shown", "mine", 1000, "<none>", "0s", "True"]);
    await server.requestOk("DELETE", `${schemas}/shown`);
  });

  it("default a precedence of zero", async () => {
    const body = { metadata: { name: "zero" }, spec: { ...schemaSpec, matchingPrecedence: 0 } };
    const made = await server.requestOk("POST", schemas, { body });
    assert.equal((made["spec"] as { matchingPrecedence: number }).matchingPrecedence, 1000);
    await server.requestOk("DELETE", `${schemas}/zero`);
  });

  const ofAccount = (serviceAccount: object) => ({
    spec: {
      ...schemaSpec,
      rules: [{ ...rule, subjects: [{ kind: "ServiceAccount", serviceAccount }] }],
    },
  });
  itRejects(() => server, "POST", schemas, { metadata: { name: "x" }, spec: schemaSpec }, [
    [
      { spec: { ...schemaSpec, distinguisherMethod: { type: "ByStar" } } },
      'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByStar"}: supported values: "ByNamespace", "ByUser"',
    ],
    [
      ofAccount({ name: "a", namespace: "" }),
      "spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account",
    ],
    [
      ofAccount({ name: "A_", namespace: "n" }),
      /^spec\.rules\[0\]\.subjects\[0\]\.serviceAccount\.name: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of/,
    ],
    [
      ofAccount({ name: "*", namespace: "N" }),
      /^spec\.rules\[0\]\.subjects\[0\]\.serviceAccount\.namespace: Invalid value: "N": a lowercase RFC 1123 label must consist of/,
    ],
    [
      { metadata: { name: "catch-all" } },
      /^spec: Invalid value: \{.*\}: spec of 'catch-all' must equal the fixed value$/,
    ],
    [
      { spec: { ...schemaSpec, matchingPrecedence: 10_001 } },
      "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
    ],
    [
      { spec: { ...schemaSpec, matchingPrecedence: 1 } },
      "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
    ],
    [
      { spec: { ...schemaSpec, matchingPrecedence: -1 } },
      "spec.matchingPrecedence: Invalid value: -1: must be a positive value",
    ],
    [
      { spec: { ...schemaSpec, priorityLevelConfiguration: { name: "" } } },
      "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
    ],
    [
      { spec: { ...schemaSpec, rules: [{ subjects: rule.subjects }] } },
      "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
    ],
    [
      { spec: { ...schemaSpec, rules: [{ ...rule, subjects: [{ kind: "User" }] }] } },
      "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
    ],
    [
      { spec: { ...schemaSpec, rules: [{ ...rule, subjects: [{ kind: "Robot" }] }] } },
      /^spec\.rules\[0\]\.subjects\[0\]\.kind: Unsupported value: "Robot"/,
    ],
    [
      {
        spec: {
          ...schemaSpec,
          rules: [
            {
              subjects: rule.subjects,
              nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/hea*"] }],
            },
          ],
        },
      },
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/hea*": wildcard can only do suffix matching',
    ],
  ]);
});

describe("PriorityLevelConfigurations", () => {
  it("have defaults and columns", async () => {
    const body = { metadata: { name: "shown" }, spec: { type: "Limited", limited } };
    const made = await server.requestOk("POST", levels, { body });
    assert.deepEqual((made["spec"] as { limited: object }).limited, {
      nominalConcurrencyShares: 30,
      lendablePercent: 0,
      limitResponse: { type: "Queue", queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
    });
    const { object } = await server.get(`${levels}/shown`, { headers: table });
    const { rows } = object as unknown as { rows: { cells: unknown[] }[] };
    assert.deepEqual(rows[0]?.cells, ["shown", "Limited", "30", "64", "8", "50", "0s"]);
  });

  it("default zeros of queuing, and keep the operator's seats of the exempt level", async () => {
    const queuing = { queues: 0, handSize: 0, queueLengthLimit: 0 };
    const spec = { type: "Limited", limited: { limitResponse: { type: "Queue", queuing } } };
    const made = await server.requestOk("POST", levels, {
      body: { metadata: { name: "zeros" }, spec },
    });
    assert.deepEqual(
      (made["spec"] as { limited: { limitResponse: object } }).limited.limitResponse,
      { type: "Queue", queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
    );
    await server.requestOk("DELETE", `${levels}/zeros`);
    const exempt = { nominalConcurrencyShares: 10, lendablePercent: 50 };
    const body = { metadata: { name: "exempt" }, spec: { type: "Exempt", exempt } };
    const kept = await server.requestOk("POST", levels, { body });
    assert.deepEqual((kept["spec"] as { exempt: object }).exempt, exempt);
    await server.requestOk("DELETE", `${levels}/exempt`);
  });

  const good = { metadata: { name: "x" }, spec: { type: "Limited", limited } };
  const withQueuing = (queuing: object) => ({
    spec: { type: "Limited", limited: { limitResponse: { type: "Queue", queuing } } },
  });
  itRejects(() => server, "POST", levels, good, [
    [
      { spec: { type: "Exempt" } },
      "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
    ],
    [
      { spec: { type: "Limited" } },
      "spec.limited: Required value: must not be empty when type is Limited",
    ],
    [
      { spec: { type: "Limited", limited: { ...limited, lendablePercent: 101 } } },
      "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
    ],
    [
      { spec: { type: "Limited", limited: { ...limited, borrowingLimitPercent: -1 } } },
      "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
    ],
    [
      { spec: { type: "Limited", limited: { ...limited, nominalConcurrencyShares: -1 } } },
      "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
    ],
    [
      { spec: { type: "Limited", limited: { limitResponse: {} } } },
      "spec.limited.limitResponse.type: Required value",
    ],
    [
      { spec: { type: "Limited", limited: { limitResponse: { type: "Wait" } } } },
      'spec.limited.limitResponse.type: Unsupported value: "Wait": supported values: "Queue", "Reject"',
    ],
    [
      { metadata: { name: "catch-all" } },
      /^spec: Invalid value: \{.*\}: spec of 'catch-all' must equal the fixed value$/,
    ],
    [
      withQueuing({ queues: 182, handSize: 8 }),
      "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 182 and handSize 8 should not be greater than 60",
    ],
    [
      withQueuing({ queues: 4, handSize: 5 }),
      "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)",
    ],
    [
      withQueuing({ queues: 1024, handSize: 7 }),
      /required entropy bits of deckSize 1024 and handSize 7 should not be greater than 60/,
    ],
  ]);
});

describe("the configuration of API Priority and Fairness", () => {
  const path = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/default/configmaps/x`;
  const uidFor = async (cluster: string) =>
    (await server.get(path(cluster), { user: "a" })).headers["x-kubernetes-pf-flowschema-uid"];
  const spec = { ...schemaSpec, matchingPrecedence: 10 };

  it("follows the objects in root, when they are created and when they are deleted", async () => {
    const bootstrap = await uidFor("a");
    await server.requestOk("POST", levels, {
      body: { metadata: { name: "mine" }, spec: { type: "Limited", limited } },
    });
    const made = await server.requestOk("POST", schemas, {
      body: { metadata: { name: "mine" }, spec },
    });
    await eventually(async () => assert.equal(await uidFor("a"), made.metadata.uid));
    await server.requestOk("DELETE", `${schemas}/mine`);
    await eventually(async () => assert.equal(await uidFor("a"), bootstrap));
  });

  it("ignores the objects in a tenant's own cluster", async () => {
    const before = await uidFor("a");
    const own = (text: string) => text.replace("/root/", "/a/");
    await server.requestOk("POST", own(levels), {
      user: "a",
      body: { metadata: { name: "mine" }, spec: { type: "Limited", limited } },
    });
    await server.requestOk("POST", own(schemas), {
      user: "a",
      body: { metadata: { name: "greedy" }, spec },
    });
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await uidFor("a"), before);
  });
});

/** The hub delivers events in later turns. */
async function eventually(check: () => Promise<void>): Promise<void> {
  for (let left = 200; ; left--) {
    try {
      return await check();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
