/**
 * Goal: a service account has the permissions of its roles in its own logical cluster, and in
 * another cluster only under its full name.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startWithServiceAccounts } from "../testing/index.ts";

type Server = Awaited<ReturnType<typeof startWithServiceAccounts>>;

describe("a service account with roles", () => {
  let server: Server;
  let token: string;
  const subject = { kind: "ServiceAccount", name: "robot", namespace: "default" };
  const bind = (cluster: string, name: string, subjects: object[]) =>
    server.requestOk(
      "POST",
      `/clusters/${cluster}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`,
      {
        body: {
          metadata: { name },
          roleRef: {
            apiGroup: "rbac.authorization.k8s.io",
            kind: "ClusterRole",
            name: "cluster-admin",
          },
          subjects,
        },
      },
    );
  const get = (cluster: string, headers: Record<string, string> = {}) =>
    server.get(`/clusters/${cluster}/api/v1/namespaces/default/configmaps`, {
      user: "anonymous",
      headers: { authorization: `Bearer ${token}`, ...headers },
    });

  before(async () => {
    server = await startWithServiceAccounts();
    for (const cluster of ["a", "b"]) {
      const base = `/clusters/${cluster}/api/v1/namespaces/default/serviceaccounts`;
      await server.requestOk("POST", base, { body: { metadata: { name: "robot" } } });
      await bind(cluster, "robots", [subject]);
    }
    const path = "/clusters/a/api/v1/namespaces/default/serviceaccounts/robot/token";
    const { status } = await server.requestOk("POST", path, { body: {} });
    token = (status as { token: string }).token;
  });
  after(() => server.close());

  it("has the permissions of its roles in its own cluster, and none of an account of the same name in another cluster", async () => {
    assert.equal((await get("a")).status, 200);
    assert.equal((await get("b")).status, 403);
    assert.equal((await get("*")).status, 403);
  });

  it("has permissions in another cluster that are granted to its full name", async () => {
    await bind("b", "guest", [
      {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "User",
        name: "system:kcp:serviceaccount:a:default:robot",
      },
    ]);
    assert.equal((await get("b")).status, 200);
  });

  it("cannot impersonate users of other clusters", async () => {
    const as = { "impersonate-user": "system:serviceaccount:default:robot" };
    assert.equal((await get("a", as)).status, 200);
    const admin = { "impersonate-user": "x", "impersonate-group": "system:kcp:admin" };
    assert.equal((await get("a", admin)).status, 403);
  });

  it("is authenticated by a TokenReview in every cluster", async () => {
    const review = await server.requestOk(
      "POST",
      "/clusters/b/apis/authentication.k8s.io/v1/tokenreviews",
      { body: { spec: { token } } },
    );
    const { authenticated, user } = review["status"] as {
      authenticated: boolean;
      user: { username: string; extra: Record<string, string[]> };
    };
    assert.equal(authenticated, true);
    assert.deepEqual(user.extra["authentication.kcp.io/cluster-name"], ["a"]);
  });
});
