/** ResourceQuotas, ServiceAccounts and Leases: the rules of the small kinds. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../../../testing/index.ts";
import { itRejects } from "../rejection-cases.ts";
import { quotaLimitsMax } from "./quota-rules.ts";

const inDefault = "/clusters/a/api/v1/namespaces/default";
const metadata = { name: "x" };

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

describe("resource quotas", () => {
  const path = `${inDefault}/resourcequotas`;

  it("keep quantities in canonical form, and begin without a status", async () => {
    const hard = { configmaps: "1000m", "limits.memory": "2048Mi", "requests.cpu": 0.5, pods: 10 };
    const body = { metadata: { name: "canonical" }, spec: { hard }, status: { hard } };
    const created = await server.requestOk("POST", path, { body });
    assert.deepEqual(created["spec"], {
      hard: { configmaps: "1", "limits.memory": "2Gi", "requests.cpu": "500m", pods: "10" },
    });
    assert.deepEqual(created["status"], {});
  });

  it("print their usage, limits separately", async () => {
    const name = "printed";
    await server.requestOk("POST", path, { body: { metadata: { name }, spec: {} } });
    const status = {
      hard: { secrets: "5", configmaps: "10", "limits.cpu": "2" },
      used: { secrets: "1", "limits.cpu": "500m" },
    };
    const patched = await server.patch(`${path}/${name}/status`, "merge", {
      status,
      spec: { hard: { pods: "1" } },
    });
    assert.deepEqual(patched.object["spec"], {}, "the status endpoint leaves the spec alone");
    const { object } = await server.get(`${path}/${name}`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    const [row] = object["rows"] as { cells: unknown[] }[];
    assert.deepEqual(row?.cells.slice(1, 3), [
      "configmaps: 0/10, secrets: 1/5",
      "limits.cpu: 500m/2",
    ]);
    const main = await server.patch(`${path}/${name}`, "merge", { status: { hard: null } });
    assert.deepEqual(main.object["status"], status, "the main endpoint leaves the status alone");
  });

  const limited = (hard: object) => ({ spec: { hard } });
  itRejects(() => server, "POST", path, { metadata }, [
    [
      limited({ pods: "-1" }),
      'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
    ],
    [limited({ pods: "1.5" }), 'spec.hard[pods]: Invalid value: "1500m": must be an integer'],
    [
      limited({ unknown: "1" }),
      '[spec.hard[unknown]: Invalid value: "unknown": must be a standard resource type or fully qualified, spec.hard[unknown]: Invalid value: "unknown": must be a standard resource for quota]',
    ],
    [
      { spec: { scopes: ["Sometimes"] } },
      'spec.scopes: Invalid value: ["Sometimes"]: unsupported scope',
    ],
    [
      { spec: { scopes: ["BestEffort", "NotBestEffort"] } },
      'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
    ],
    [
      { spec: { scopes: ["BestEffort"], hard: { secrets: "1" } } },
      'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
    ],
    [
      {
        spec: {
          scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In" }] },
        },
      },
      "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
    ],
    [
      {
        spec: {
          scopeSelector: {
            matchExpressions: [{ scopeName: "BestEffort", operator: "DoesNotExist" }],
          },
        },
      },
      /^spec\.scopeSelector\.matchExpressions\.operator: Invalid value: "DoesNotExist": must be 'Exists' when scope is any of/,
    ],
  ]);

  it("accept the resources of physical clusters, and any resource with a group", async () => {
    const hard = {
      pods: "1",
      services: "1",
      "services.nodeports": "1",
      "count/widgets.example.com": "1",
      "requests.nvidia.com/gpu": "1",
      "requests.storage": "1Gi",
      "hugepages-2Mi": "2Mi",
    };
    const body = { metadata: { name: "many" }, ...limited(hard) };
    assert.equal((await server.request("POST", path, { body })).status, 201);
  });

  it("accept a thousand limits, and not one more", async () => {
    const hard = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`count/r${i}`, "1"]));
    const most = { metadata: { name: "most" }, ...limited(hard(quotaLimitsMax)) };
    assert.equal((await server.request("POST", path, { body: most })).status, 201);
    const more = { metadata: { name: "more" }, ...limited(hard(quotaLimitsMax + 1)) };
    const { object } = await server.request("POST", path, { body: more });
    assert.match(object.message ?? "", /spec\.hard: Too many: 1001: must have at most 1000 items$/);
  });

  it("with an invalid quantity are a bad request", async () => {
    const body = { metadata, ...limited({ pods: "lots" }) };
    const answer = await server.request("POST", path, { body });
    assert.equal(answer.status, 400);
    assert.match(answer.object.message ?? "", /quantities must match the regular expression/);
  });

  it("keep their scopes", async () => {
    const spec = { scopes: ["BestEffort"], hard: { pods: "1" } };
    await server.requestOk("POST", path, { body: { metadata: { name: "scoped" }, spec } });
    const { object } = await server.patch(`${path}/scoped`, "merge", {
      spec: { scopes: ["NotBestEffort"] },
    });
    assert.match(
      object.message ?? "",
      /spec\.scopes: Invalid value: \["NotBestEffort"\]: field is immutable$/,
    );
  });
});

describe("service accounts", () => {
  it("refer to secrets by name alone, and merge them by name", async () => {
    const path = `${inDefault}/serviceaccounts`;
    const created = await server.requestOk("POST", path, {
      body: {
        metadata: { name: "refers" },
        secrets: [{ name: "a", namespace: "other", kind: "Secret" }],
        automountServiceAccountToken: false,
      },
    });
    assert.deepEqual(created["secrets"], [{ name: "a" }]);
    const { object } = await server.patch(`${path}/refers`, "strategic", {
      secrets: [{ name: "b" }],
    });
    assert.deepEqual(object["secrets"], [{ name: "b" }, { name: "a" }]);
    assert.equal(object["automountServiceAccountToken"], false);
  });
});

describe("leases", () => {
  const path = "/clusters/a/apis/coordination.k8s.io/v1/namespaces/default/leases";
  itRejects(() => server, "POST", path, { metadata }, [
    [
      { spec: { leaseDurationSeconds: 0 } },
      "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
    ],
    [
      { spec: { leaseTransitions: -1 } },
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
  ]);

  it("keep microseconds, in UTC, and require exactly six digits", async () => {
    const body = (renewTime: string) => ({ metadata: { name: "timed" }, spec: { renewTime } });
    const created = await server.requestOk("POST", path, {
      body: body("2026-11-15T11:00:00.120000+01:00"),
    });
    assert.deepEqual(created["spec"], { renewTime: "2026-11-15T10:00:00.120000Z" });
    const short = await server.request("POST", path, { body: body("2026-11-15T11:00:00Z") });
    assert.equal(short.status, 400);
    assert.match(
      short.object.message ?? "",
      /parsing time "2026-11-15T11:00:00Z" as "2006-01-02T15:04:05\.000000Z07:00": cannot parse "Z" as "\.000000"$/,
    );
  });

  it("of two clients that acquire one at the same version, one succeeds", async () => {
    const name = "contested";
    const held = await server.requestOk("POST", path, { body: { metadata: { name }, spec: {} } });
    const take = (holderIdentity: string) =>
      server.request("PUT", `${path}/${name}`, {
        body: { metadata: held.metadata, spec: { holderIdentity } },
      });
    const answers = await Promise.all([take("a"), take("b")]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  });
});
