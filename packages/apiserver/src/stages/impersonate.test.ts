import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { parseAuditPolicy } from "../audit/index.ts";
import { impersonationRequests, impersonationRequestsMax } from "../authentication/index.ts";
import { type Authorizer, bootstrapAuthorizer, unionAuthorizer } from "../authorization/index.ts";
import type { Attributes } from "../request/attributes.ts";
import type { UserInfo } from "../request/user.ts";
import { ListeningServer, ownCluster, TestServer } from "../testing/index.ts";

/** The authorized requests, with their users. */
let asked: Attributes[] = [];
const watching: Authorizer = {
  authorize(attributes) {
    asked.push(attributes);
    return { allowed: false, reason: "" };
  },
};

describe("impersonation", () => {
  let server: TestServer;
  beforeEach(async () => {
    asked = [];
    server = await TestServer.start({
      authorization: () => unionAuthorizer([watching, bootstrapAuthorizer, ownCluster]),
    });
  });
  afterEach(() => server.close());

  const target = "/clusters/a/api/v1/namespaces/default/configmaps";
  const as = (
    headers: Record<string, string | string[]>,
    user: "admin" | "masters" | "a" | "nobody" = "masters",
  ) => server.get(target, { user, headers: headers as Record<string, string> });
  /** The user that the request itself was authorized for. */
  const actor = (): UserInfo | undefined => asked.at(-1)?.user;

  it("makes the request that of the impersonated user, with that user's permissions", async () => {
    const answer = await as({ "impersonate-user": "alice" });
    assert.equal(answer.status, 403);
    assert.match(answer.text, /User \\"alice\\" cannot list/);
    assert.deepEqual(actor(), { username: "alice", groups: ["system:authenticated"] });
  });

  it("takes over groups, uid and extras, each value separately", async () => {
    await as({
      "impersonate-user": "alice",
      "impersonate-group": ["dev", "ops,night"],
      "impersonate-uid": "7",
      "impersonate-extra-scopes": ["x", "y"],
      "impersonate-extra-acme.com%2Fproject": "p",
      "impersonate-extra-bad%": "q",
    });
    assert.deepEqual(actor(), {
      username: "alice",
      uid: "7",
      groups: ["dev", "ops,night", "system:authenticated"],
      extra: { scopes: ["x", "y"], "acme.com/project": ["p"], "bad%": ["q"] },
    });
  });

  it("does not give a tenant's users the priority of system users with the same names", async () => {
    const schemaFor = async (headers: Record<string, string>, user: "a" | "masters") => {
      const { headers: answered } = await as(headers, user);
      return answered["x-kubernetes-pf-flowschema-uid"];
    };
    const usual = await schemaFor({}, "a");
    for (const [username, group] of [
      ["system:kube-scheduler", "x"],
      ["n", "system:nodes"],
    ] as const) {
      const headers = { "impersonate-user": username, "impersonate-group": group };
      assert.equal(await schemaFor(headers, "a"), usual, group);
      assert.notEqual(await schemaFor(headers, "masters"), usual, group);
    }
  });

  it("authorizes every one of these, in Kubernetes' order and with its names", async () => {
    await as({
      "impersonate-user": "alice",
      "impersonate-group": ["dev"],
      "impersonate-uid": "7",
      "impersonate-extra-project": "p",
    });
    assert.deepEqual(
      asked
        .filter(({ verb }) => verb === "impersonate")
        .map(({ cluster, group, resource, subresource, name, user }) =>
          [user.username, cluster, group, resource, subresource, name].join("|"),
        ),
      [
        "shard-admin|a||users||alice",
        "shard-admin|a||groups||dev",
        "shard-admin|a|authentication.k8s.io|userextras|project|p",
        "shard-admin|a|authentication.k8s.io|uids||7",
      ],
    );
  });

  it("of a service account is authorized as a serviceaccount, and adds the account's groups", async () => {
    await as({ "impersonate-user": "system:serviceaccount:ns:robot" });
    const [first] = asked;
    assert.deepEqual(
      [first?.resource, first?.namespace, first?.name],
      ["serviceaccounts", "ns", "robot"],
    );
    assert.deepEqual(actor()?.groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:ns",
      "system:authenticated",
    ]);
    await as({ "impersonate-user": "system:serviceaccount:ns:robot", "impersonate-group": "x" });
    assert.deepEqual(actor()?.groups, ["x", "system:authenticated"]);
    asked = [];
    await as({ "impersonate-user": "system:serviceaccount:ns:a:b" });
    assert.equal(asked[0]?.resource, "users");
  });

  it("of system:anonymous does not add system:authenticated", async () => {
    await as({ "impersonate-user": "system:anonymous" });
    assert.deepEqual(actor()?.groups, ["system:unauthenticated"]);
    await as({ "impersonate-user": "x", "impersonate-group": "system:unauthenticated" });
    assert.deepEqual(actor()?.groups, ["system:unauthenticated"]);
  });

  it("is rejected in the requestor's name", async () => {
    const answer = await as({ "impersonate-user": "alice" }, "nobody");
    assert.equal(answer.status, 403);
    assert.equal(
      answer.object.message,
      'users "alice" is forbidden: User "nobody" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });

  it("without a user is a bad request", async () => {
    const answer = await as({ "impersonate-group": "dev" });
    assert.equal(answer.status, 400);
    assert.equal(
      answer.object.message,
      "requested [{Group  dev    }] without impersonating a user",
    );
    assert.equal((await as({ "impersonate-uid": "7" })).status, 400);
    assert.equal((await as({ "impersonate-extra-x": "7" })).status, 400);
    assert.equal((await as({ "impersonate-user": "", "impersonate-group": "x" })).status, 400);
    assert.equal((await as({ "impersonate-user": "" })).status, 200);
  });

  it("by a cluster's owner grants nothing in other clusters: neither global groups nor an escape from its scope", async () => {
    for (const group of [
      "system:masters",
      "system:kcp:admin",
      "system:kcp:logical-cluster-admin",
      "system:kcp:initializer:root:x",
    ]) {
      const answer = await as({ "impersonate-user": "x", "impersonate-group": group }, "a");
      assert.equal(answer.status, 403, group);
      assert.match(answer.text, /impersonation is not allowed for the requestor/);
    }
    await as({ "impersonate-user": "a" }, "a");
    assert.deepEqual(actor()?.extra, { "authentication.kcp.io/scopes": ["cluster:a"] });
    const elsewhere = await server.get("/clusters/b/api/v1/namespaces/default/configmaps", {
      user: "a",
      headers: { "impersonate-user": "b" },
    });
    assert.equal(elsewhere.status, 403);
    assert.match(elsewhere.text, /User \\"a\\" cannot impersonate/);
  });

  it("of warrants by a cluster's owner is scoped to that cluster, down to the warrants of warrants", async () => {
    const inner = { user: "carol", groups: ["friends"] };
    const warrant = {
      user: "bob",
      groups: ["dev"],
      extra: {
        "authentication.kcp.io/scopes": ["cluster:a,cluster:b"],
        "authorization.kcp.io/warrant": [JSON.stringify(inner)],
      },
    };
    const header = "impersonate-extra-authorization.kcp.io%2Fwarrant";
    await as({ "impersonate-user": "a", [header]: JSON.stringify(warrant) }, "a");
    const { extra = {} } = actor() as UserInfo;
    assert.deepEqual(extra["authentication.kcp.io/scopes"], ["cluster:a"]);
    const [text = ""] = extra["authorization.kcp.io/warrant"] ?? [];
    const scoped = JSON.parse(text) as typeof warrant;
    assert.deepEqual([scoped.user, scoped.groups], ["bob", ["dev"]]);
    assert.deepEqual(scoped.extra["authentication.kcp.io/scopes"], [
      "cluster:a,cluster:b",
      "cluster:a",
    ]);
    assert.deepEqual(JSON.parse(scoped.extra["authorization.kcp.io/warrant"][0] as string), {
      ...inner,
      extra: { "authentication.kcp.io/scopes": ["cluster:a"] },
    });
  });

  it("of warrants grants no permission that the requestor does not have", async () => {
    const header = "impersonate-extra-authorization.kcp.io%2Fwarrant";
    const powerful = { user: "bob", groups: ["system:masters"] };
    const nested = {
      user: "bob",
      extra: { "authorization.kcp.io/warrant": [JSON.stringify(powerful)] },
    };
    for (const warrant of [JSON.stringify(powerful), JSON.stringify(nested), "no warrant"]) {
      const answer = await as({ "impersonate-user": "a", [header]: warrant }, "a");
      assert.equal(answer.status, 403, warrant);
      assert.match(answer.text, /impersonation is not allowed for the requestor/);
    }
  });

  it("of extras adds the cluster to scopes that are named, and accepts any key", async () => {
    await as(
      {
        "impersonate-user": "x",
        "impersonate-extra-authentication.kcp.io%2fscopes": "cluster:z",
        "impersonate-extra-__proto__": "p",
      },
      "a",
    );
    const extra = actor()?.extra ?? {};
    assert.deepEqual(extra["authentication.kcp.io/scopes"], ["cluster:z", "cluster:a"]);
    assert.deepEqual(Object.getOwnPropertyDescriptor(extra, "__proto__")?.value, ["p"]);
    assert.equal(Object.getPrototypeOf(extra), Object.prototype);
  });

  it("has a limit", () => {
    const groups = (length: number) => Array.from({ length }, (_, at) => `g${at}`);
    const wishes = (length: number) =>
      impersonationRequests({ "impersonate-user": "x", "impersonate-group": groups(length) });
    assert.equal(wishes(impersonationRequestsMax - 1).length, impersonationRequestsMax);
    assert.throws(() => wishes(impersonationRequestsMax), /the limit is 500/);
  });
});

describe("impersonation over the wire", () => {
  const told = {
    "Impersonate-User": "alice",
    "Impersonate-Group": ["dev", "ops,night"],
    "Impersonate-Extra-Teams": ["one", "two,three"],
  };
  for (const protocol of ["http1", "http2"] as const)
    for (const level of ["None", "Metadata", "Request", "RequestResponse"] as const)
      it(`keeps repeated headers apart, commas included, over ${protocol}, audited at ${level}`, async () => {
        asked = [];
        const server = await ListeningServer.start({
          authorization: () => unionAuthorizer([watching, bootstrapAuthorizer]),
          audit: {
            policy: parseAuditPolicy({
              apiVersion: "audit.k8s.io/v1",
              kind: "Policy",
              rules: [{ level }],
            }),
            backends: () => [
              { name: "test", write: () => undefined, close: async () => undefined },
            ],
          },
        });
        const bodies = {
          "application/json": '{"metadata":{"name":"x"}}',
          "application/yaml": "metadata:\n  name: x\n",
        };
        try {
          for (const [type, body] of Object.entries(bodies)) {
            const headers = { ...told, "content-type": type } as unknown as Record<string, string>;
            const path = "/api/v1/namespaces/default/configmaps";
            const wish = { method: "POST", user: "masters", headers, body } as const;
            const answer = await server[protocol](path, wish);
            assert.equal(answer.status, 403);
            const { groups, extra } = asked.at(-1)?.user ?? {};
            assert.deepEqual(groups, ["dev", "ops,night", "system:authenticated"]);
            assert.deepEqual(extra?.["teams"], ["one", "two,three"]);
          }
        } finally {
          await server.close();
        }
      });
});
