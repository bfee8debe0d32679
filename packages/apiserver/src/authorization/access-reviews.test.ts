/** Access reviews through the server: posted, answered, never stored. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { StorageKey } from "../storage/index.ts";
import { envelope, RoleWriter, TestServer } from "../testing/index.ts";

const base = "/apis/authorization.k8s.io/v1";
const identity = "/apis/authentication.k8s.io/v1";

let server: TestServer;
let admin: RoleWriter;
let nobody: RoleWriter;
before(async () => {
  server = await TestServer.start();
  admin = new RoleWriter(server, "t");
  nobody = admin.as("nobody");
  await admin.grant("reader", "nobody", [
    { verbs: ["get"], apiGroups: [""], resources: ["configmaps"] },
  ]);
});
after(() => server.close());

const getting = { verb: "get", resource: "configmaps", namespace: "default" };
const byReader =
  'RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to User "nobody"';

async function storedCount(): Promise<number> {
  const { signal } = new AbortController();
  return server.storage.count("/" as StorageKey, { signal });
}

describe("an access review", () => {
  it("of oneself is permitted to every authenticated user, and returns the reason", async () => {
    const path = `${base}/selfsubjectaccessreviews`;
    const spec = { resourceAttributes: getting };
    const answer = await nobody.post(path, { spec });
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.object, {
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {},
      spec,
      status: { allowed: true, reason: byReader },
    });
    const other = { resourceAttributes: { ...getting, resource: "secrets" } };
    assert.deepEqual((await nobody.post(path, { spec: other })).object["status"], {
      allowed: false,
    });
    assert.equal((await admin.as("anonymous").post(path, { spec })).status, 403);
  });

  it("of other users is permitted to users who may create it", async () => {
    const path = `${base}/subjectaccessreviews`;
    const spec = { user: "nobody", resourceAttributes: getting };
    const refused = await nobody.post(path, { spec });
    assert.equal(
      refused.object.message,
      'subjectaccessreviews.authorization.k8s.io is forbidden: User "nobody" cannot create resource "subjectaccessreviews" in API group "authorization.k8s.io" at the cluster scope',
    );
    const { object } = await admin.post(path, { spec });
    assert.deepEqual(object["status"], { allowed: true, reason: byReader });
    const masters = {
      groups: ["system:masters"],
      nonResourceAttributes: { path: "/x", verb: "y" },
    };
    const { status } = (await admin.post(path, { spec: masters })).object as {
      status?: { allowed: boolean };
    };
    assert.equal(status?.allowed, true);
  });

  it("concerns the cluster it is posted to, and no other", async () => {
    const spec = { user: "nobody", resourceAttributes: getting };
    const elsewhere = new RoleWriter(server, "elsewhere");
    const { object } = await elsewhere.post(`${base}/subjectaccessreviews`, { spec });
    assert.deepEqual(object["status"], { allowed: false });
    const all = new RoleWriter(server, "*");
    const wildcard = await all.post(`${base}/subjectaccessreviews`, { spec });
    assert.ok(wildcard.status >= 400 && wildcard.status < 500, wildcard.text);
  });

  it("respects scopes and service accounts of other clusters", async () => {
    const asking = (extra: object, user: string) =>
      admin.post(`${base}/subjectaccessreviews`, {
        spec: { user, groups: ["system:kcp:admin"], extra, resourceAttributes: getting },
      });
    const allowed = async (extra: object, user = "x") =>
      ((await asking(extra, user)).object as { status?: { allowed: boolean } }).status?.allowed;
    assert.equal(await allowed({}), true);
    assert.equal(await allowed({ "authentication.kcp.io/scopes": ["cluster:t"] }), true);
    assert.equal(await allowed({ "authentication.kcp.io/scopes": ["cluster:u"] }), false);
    assert.equal(await allowed({ "Authentication.KCP.io/Scopes": ["cluster:u"] }), false);
    const account = "system:serviceaccount:default:sa";
    assert.equal(await allowed({ "authentication.kcp.io/cluster-name": ["u"] }, account), false);
  });

  it("within a namespace contains the namespace", async () => {
    const path = `${base}/namespaces/default/localsubjectaccessreviews`;
    const spec = { user: "nobody", resourceAttributes: getting };
    const { object, status } = await admin.post(path, { spec });
    assert.equal(status, 201);
    assert.deepEqual(object["status"], { allowed: true, reason: byReader });
    assert.deepEqual(object.metadata, { namespace: "default" });
    const other = { ...spec, resourceAttributes: { ...getting, namespace: "other" } };
    assert.equal(
      (await admin.post(path, { spec: other })).object.message,
      '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
    );
    assert.equal((await admin.get("/api/v1/namespaces/default")).status, 404, "nothing was made");
  });

  const resourceAttributes = getting;
  const nonResourceAttributes = { path: "/x", verb: "get" };
  const invalid: readonly (readonly [string, object, object, string])[] = [
    [
      "self",
      {},
      {},
      "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
    ],
    [
      "self",
      { resourceAttributes, nonResourceAttributes },
      {},
      'spec.nonResourceAttributes: Invalid value: {"path":"/x","verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [
      "",
      { resourceAttributes },
      {},
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    [
      "self",
      { resourceAttributes },
      { name: "x" },
      'metadata: Invalid value: {"name":"x"}: must be empty',
    ],
    [
      "self",
      { resourceAttributes: { ...getting, labelSelector: {} } },
      {},
      "spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required",
    ],
    [
      "self",
      {
        resourceAttributes: {
          ...getting,
          fieldSelector: {
            rawSelector: "a=b",
            requirements: [
              { operator: "In" },
              { key: "a", operator: "Exists", values: ["b"] },
              { key: "a", operator: "Newer", values: ["b"] },
            ],
          },
        },
      },
      {},
      `[${[
        'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
        "spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified",
        "spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "spec.resourceAttributes.fieldSelector.requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      ].join(", ")}]`,
    ],
    [
      "self",
      {
        resourceAttributes: {
          ...getting,
          labelSelector: { requirements: [{ key: "a/b/c", operator: "Newer" }] },
        },
      },
      {},
      "spec.resourceAttributes.labelSelector.requirements[0].key: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ],
  ];
  for (const [prefix, spec, metadata, message] of invalid) {
    it(`is rejected: ${message}`, async () => {
      const answer = await admin.post(`${base}/${prefix}subjectaccessreviews`, { metadata, spec });
      assert.equal(answer.status, 422);
      assert.ok(answer.object.message?.endsWith(`"" is invalid: ${message}`), answer.text);
    });
  }

  it("may be JSON, YAML or protobuf", async () => {
    const path = `/clusters/t${base}/selfsubjectaccessreviews`;
    const kind = "SelfSubjectAccessReview";
    const apiVersion = "authorization.k8s.io/v1";
    const yaml = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  creationTimestamp: null\nspec:\n  resourceAttributes: {verb: get, resource: configmaps, namespace: default}\n`;
    const protobuf = envelope(apiVersion, kind, [
      // Go clients also send unset fields.
      [
        1,
        [
          [1, ""],
          [7, 0],
          [8, []],
        ],
      ],
      [
        2,
        [
          [
            1,
            [
              [1, "default"],
              [2, "get"],
              [5, "configmaps"],
            ],
          ],
        ],
      ],
    ]);
    for (const [type, body] of [
      ["application/yaml", yaml],
      ["application/vnd.kubernetes.protobuf", protobuf],
    ] as const) {
      const headers = { "content-type": type };
      const { object } = await server.request("POST", path, { body, headers, user: "nobody" });
      assert.deepEqual(object["status"], { allowed: true, reason: byReader }, type);
    }
  });

  it("is not stored, and cannot be read", async () => {
    const count = await storedCount();
    for (const [path, spec] of [
      ["selfsubjectaccessreviews", { resourceAttributes: getting }],
      ["selfsubjectrulesreviews", { namespace: "default" }],
    ] as const)
      assert.equal((await admin.post(`${base}/${path}`, { spec })).status, 201);
    assert.equal(await storedCount(), count);
    for (const method of ["GET", "DELETE", "PUT"])
      assert.equal(
        (await server.request(method, `/clusters/t${base}/subjectaccessreviews`)).status,
        405,
      );
    assert.equal((await admin.get(`${base}/selfsubjectaccessreviews/x`)).status, 405);
  });
});

describe("a rules review", () => {
  it("returns the rules of roles, each once, and the rules of every user", async () => {
    const { object } = await nobody.post(`${base}/selfsubjectrulesreviews`, {
      spec: { namespace: "default" },
    });
    const create = ["create"];
    assert.deepEqual(object["status"], {
      resourceRules: [
        {
          verbs: create,
          apiGroups: ["authorization.k8s.io"],
          resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        { verbs: create, apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
        { verbs: ["get"], apiGroups: [""], resources: ["configmaps"] },
      ],
      nonResourceRules: (object as { status?: { nonResourceRules: object[] } }).status
        ?.nonResourceRules,
      incomplete: false,
    });
    const urls = JSON.stringify(object["status"]);
    for (const url of ["/healthz", "/version", "/api/*", "/openapi/*"])
      assert.ok(urls.includes(JSON.stringify(url)), url);
  });

  it("requires a namespace", async () => {
    const answer = await nobody.post(`${base}/selfsubjectrulesreviews`, { spec: {} });
    assert.equal(answer.status, 400);
    assert.equal(answer.object.message, "no namespace on request");
  });

  it("reports missing roles", async () => {
    const other = new RoleWriter(server, "broken");
    await other.clusterBinding("b", "gone", "nobody");
    const { object } = await other
      .as("nobody")
      .post(`${base}/selfsubjectrulesreviews`, { spec: { namespace: "default" } });
    const { evaluationError } = object["status"] as { evaluationError: string };
    assert.equal(evaluationError, 'clusterrole.rbac.authorization.k8s.io "gone" not found');
  });
});

describe("an identity review", () => {
  it("returns the user of the request, and the time", async () => {
    const sent = { metadata: { name: "x", creationTimestamp: "2001-01-01T00:00:00Z" } };
    const { object } = await nobody.post(`${identity}/selfsubjectreviews`, sent);
    const { creationTimestamp } = object.metadata;
    assert.match(String(creationTimestamp), /^20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(object, {
      kind: "SelfSubjectReview",
      apiVersion: "authentication.k8s.io/v1",
      metadata: { creationTimestamp },
      status: { userInfo: { username: "nobody", groups: ["system:authenticated"] } },
    });
  });

  it("returns the user of a token, if the sender may create TokenReviews", async () => {
    const path = `${identity}/tokenreviews`;
    const spec = { token: "token-of-a" };
    assert.equal((await nobody.post(path, { spec })).status, 403);
    const { object, status } = await admin.post(path, { spec });
    assert.equal(status, 201);
    assert.deepEqual(object["status"], {
      authenticated: true,
      user: { username: "a", groups: ["system:authenticated"] },
    });
    for (const token of ["wrong", " ", "x".repeat(100_000)]) {
      const { object: refused } = await admin.post(path, { spec: { token } });
      assert.deepEqual(refused["status"], { user: {}, error: "invalid bearer token" });
    }
    const elsewhere = await admin.post(path, { spec: { ...spec, audiences: ["somebody else"] } });
    assert.deepEqual(elsewhere.object["status"], { user: {}, error: "invalid bearer token" });
    const missing = await admin.post(path, { spec: {} });
    assert.equal(missing.status, 400);
    assert.equal(missing.object.message, "token is required for TokenReview in authentication");
  });
});
