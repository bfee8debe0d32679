/**
 * Access through the server: the permissions of the groups that every user is in, and that these
 * groups grant nothing else.
 *
 * Method: every verb on every built-in kind, and every path that is served, requested by users
 * without a single binding.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { bootstrapAuthorizer, unionAuthorizer } from "./authorization/index.ts";
import { plainExtension } from "./extension.ts";
import {
  collectionPath,
  RoleWriter,
  sampleKinds,
  sampleObject,
  TestServer,
  type TestUser,
} from "./testing/index.ts";

let server: TestServer;
before(async () => {
  server = await TestServer.start({
    authorization: (rbac) => unionAuthorizer([bootstrapAuthorizer, rbac]),
  });
});
after(() => server.close());

describe("users without a RoleBinding", () => {
  for (const user of ["nobody", "anonymous"] as const) {
    it(`${user} can do nothing to any built-in kind, whether it exists or not`, async () => {
      for (const sample of sampleKinds) {
        const path = `/clusters/t${collectionPath(sample)}`;
        const body = sampleObject(sample, "x");
        const attempts: readonly (readonly [string, string, object?])[] = [
          ["GET", path],
          ["GET", `${path}?watch=1`],
          ["GET", `${path}/x`],
          ["HEAD", `${path}/x`],
          ["POST", path, body],
          ["PUT", `${path}/x`, body],
          ["PATCH", `${path}/x`, {}],
          ["DELETE", `${path}/x`],
          ["DELETE", path],
          ["GET", `${path}/x/status`],
        ];
        for (const [method, target, content] of attempts) {
          const answer = await server.request(method, target, { user, body: content });
          assert.equal(answer.status, 403, `${method} ${target}: ${answer.text}`);
        }
      }
    });
  }

  const open = ["/healthz", "/livez", "/readyz", "/readyz/etcd", "/version", "/version/"];
  const discovery = ["/api", "/api/v1", "/apis", "/apis/coordination.k8s.io/v1", "/openapi/v3"];
  const closed = ["/", "/metrics", "/backup", "/logs", "/openapix", "/healthzz"];
  const cases: readonly (readonly [TestUser, readonly string[], number])[] = [
    ["anonymous", open, 200],
    ["anonymous", [...discovery, ...closed], 403],
    ["nobody", [...open, ...discovery], 200],
    ["nobody", closed, 403],
    ["admin", [...open, ...discovery, "/"], 200],
    ["masters", [...open, ...discovery, "/"], 200],
  ];
  for (const [user, paths, status] of cases) {
    it(`${user} gets ${status} for ${paths.join(" ")}`, async () => {
      for (const path of paths) {
        const answer = await server.get(`/clusters/t${path}`, { user });
        assert.equal(answer.status, status, `${path}: ${answer.text}`);
      }
    });
  }

  it("a service account has no permissions without a RoleBinding", async () => {
    const user = "system:serviceaccount:default:robot";
    const groups = [
      "system:serviceaccounts",
      "system:serviceaccounts:default",
      "system:authenticated",
    ];
    const admin = new RoleWriter(server, "t");
    const ask = async (attributes: object) =>
      (
        (
          await admin.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            spec: { user, groups, ...attributes },
          })
        ).object as { status?: { allowed: boolean } }
      ).status?.allowed;
    const path = (value: string) => ({ nonResourceAttributes: { verb: "get", path: value } });
    assert.equal(await ask({ resourceAttributes: { verb: "get", resource: "secrets" } }), false);
    assert.equal(await ask(path("/openid/v1/jwks")), true, "all of them may verify their tokens");
    assert.equal(await ask(path("/apis")), true);
    assert.equal(await ask(path("/metrics")), false);
  });
});

describe("a resourceName in an RBAC rule", () => {
  it("permits exactly the object of that name, also in a list or a watch that selects it", async () => {
    const admin = new RoleWriter(server, "named");
    await admin.post("/api/v1/namespaces", { metadata: { name: "default" } });
    await admin.grant("one", "nobody", [
      {
        verbs: ["get", "list", "watch", "create", "deletecollection"],
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["mine"],
      },
    ]);
    const base = "/clusters/named/api/v1/namespaces/default/configmaps";
    for (const name of ["mine", "yours"]) {
      const body = { metadata: { name } };
      await server.requestOk("POST", base, { body, user: "masters" });
    }
    const status = async (method: string, target: string, body?: object) =>
      (await server.request(method, `${base}${target}`, { user: "nobody", body })).status;
    const selecting = (selector: string) => `?fieldSelector=${encodeURIComponent(selector)}`;
    assert.equal(await status("GET", "/mine"), 200);
    assert.equal(await status("GET", "/yours"), 403);
    assert.equal(await status("GET", ""), 403);
    const { items } = await server.get(`${base}${selecting("metadata.name=mine")}`, {
      user: "nobody",
    });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["mine"],
    );
    for (const selector of [
      "metadata.name=yours",
      "metadata.name!=yours",
      "metadata.namespace=default",
    ])
      assert.equal(await status("GET", selecting(selector)), 403, selector);
    const both = selecting("metadata.name=mine,metadata.name=yours");
    assert.deepEqual((await server.get(`${base}${both}`, { user: "nobody" })).names, []);
    const twice = `${selecting("metadata.name=mine")}&fieldSelector=`;
    const first = await server.get(`${base}${twice}`, { user: "nobody" });
    assert.deepEqual(first.names, ["mine"], "the gate and the handler read the same selector");
    assert.equal(await status("POST", "", { metadata: { name: "mine" } }), 403);
    assert.equal(await status("DELETE", selecting("metadata.name=mine")), 403);
    assert.equal(await status("DELETE", ""), 403);
  });
});

describe("a custom composition of authorizers", () => {
  it("can wrap RBAC, and its denials are final", async () => {
    const wrapped = await TestServer.start({
      authorization: (rbac) => ({
        authorize: (attributes) =>
          attributes.namespace === "closed"
            ? { allowed: false, reason: "closed on Sundays" }
            : rbac.authorize(attributes),
      }),
    });
    const path = (namespace: string) => `/clusters/t/api/v1/namespaces/${namespace}/configmaps`;
    assert.equal((await wrapped.get(path("open"))).status, 200);
    const { object } = await wrapped.get(path("closed"));
    assert.match(object.message ?? "", /in the namespace "closed": closed on Sundays$/);
    await wrapped.close();
  });
});

describe("a content authorizer", () => {
  const closed = { allowed: false, reason: "closed" } as const;
  const closing = () => ({ authorize: () => closed });
  const statusWith = async (options: Parameters<typeof TestServer.start>[0]) => {
    const extension = () => ({ ...plainExtension(), gate: closing });
    const test = await TestServer.start({ ...options, extension });
    const { status } = await test.get("/clusters/a/api/v1/namespaces", { user: "masters" });
    await test.close();
    return status;
  };

  it("guards the authorizers that it wraps, and all of them when it wraps none", async () => {
    const outside = await statusWith({
      authorization: (rbac, gate) => unionAuthorizer([bootstrapAuthorizer, gate(rbac)]),
    });
    assert.equal(outside, 200, "masters stand before it");
    assert.equal(
      await statusWith({ authorization: (rbac) => unionAuthorizer([bootstrapAuthorizer, rbac]) }),
      403,
    );
    assert.equal(await statusWith({}), 403);
  });
});
