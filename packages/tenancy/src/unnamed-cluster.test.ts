/**
 * Goal: a request without a logical cluster goes to the cluster of the service account that sends
 * it, and to root for all other users; its result always equals that of the same request with that
 * cluster named.
 *
 * Method: every request of a table is sent without a cluster and with the expected one, by every
 * user; the responses are the same. The objects of two tenants and of root have the same names, so
 * that a response of another cluster would show.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseAuditPolicy } from "@kcp-ts/apiserver/audit";
import {
  type RequestOptions,
  RoleWriter,
  startWithServiceAccounts,
} from "@kcp-ts/apiserver/testing";

type Server = Awaited<ReturnType<typeof startWithServiceAccounts>>;

const configMaps = "/api/v1/namespaces/default/configmaps";
const everywhere = ["root", "a", "b"] as const;

const requests: readonly (readonly [string, string])[] = [
  ["GET", `${configMaps}/c`],
  ["GET", `${configMaps}/none`],
  ["GET", configMaps],
  ["GET", "/api/v1/configmaps?limit=1"],
  ["GET", "/api/v1/namespaces/default/secrets/s"],
  ["GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles"],
  ["GET", "/apis/tenancy.kcp.io/v1alpha1/workspaces/~"],
  ["DELETE", `${configMaps}/none`],
  ["PATCH", `${configMaps}/none`],
  ["GET", "/"],
  ["GET", "/api"],
  ["GET", "/apis"],
  ["GET", "/api/v1"],
  ["GET", "/apis/x.example/v1"],
  ["GET", "/openapi/v3"],
  ["GET", "/version"],
  ["GET", "/livez"],
  ["GET", "/metrics"],
  ["GET", "/backup"],
  ["GET", "/no/such/path"],
];

describe("a request without a logical cluster", () => {
  let server: Server;
  const audited: Record<string, unknown>[] = [];
  before(async () => {
    server = await startWithServiceAccounts({
      audit: {
        policy: parseAuditPolicy({
          apiVersion: "audit.k8s.io/v1",
          kind: "Policy",
          rules: [{ level: "Metadata" }],
        }),
        backends: () => [
          {
            name: "memory",
            write: (event) => void audited.push(JSON.parse(JSON.stringify(event))),
            close: async () => {},
          },
        ],
      },
    });
    for (const cluster of everywhere) await fill(server, cluster);
  });
  after(() => server.close());

  const tokenOf = async (cluster: string) => {
    const path = `/clusters/${cluster}/api/v1/namespaces/default/serviceaccounts/robot/token`;
    const { status } = await server.requestOk("POST", path, { body: { spec: {} } });
    return (status as { token: string }).token;
  };
  const bearer = (token: string): RequestOptions => ({
    user: "anonymous",
    headers: { authorization: `Bearer ${token}` },
  });
  /** The response as a client sees it, without the parts that differ between any two requests. */
  const seen = async (method: string, target: string, options: RequestOptions) => {
    const { status, text, headers } = await server.request(method, target, {
      ...options,
      ...(method === "PATCH" ? { body: "{}" } : {}),
      headers: { ...options.headers, "content-type": "application/merge-patch+json" },
    });
    // Metrics are the process's: only a request without a cluster gets them.
    if (target.endsWith("/metrics") && (status === 200 || status === 501)) return "metrics";
    return { status, type: headers["content-type"], text };
  };
  const isSame = async (options: RequestOptions, cluster: string) => {
    for (const [method, path] of requests) {
      const unnamed = await seen(method, path, options);
      const named = await seen(method, `/clusters/${cluster}${path}`, options);
      assert.deepEqual(unnamed, named, `${method} ${path}`);
    }
  };

  for (const cluster of everywhere) {
    it(`goes to ${cluster} for a service account of ${cluster}, and is the same as if it named it`, async () => {
      const options = bearer(await tokenOf(cluster));
      await isSame(options, cluster);
      const { object } = await server.get(`${configMaps}/c`, options);
      assert.deepEqual(object.data, { of: cluster });
    });
  }

  it("goes to root for users, administrators and unauthenticated clients", async () => {
    for (const user of ["admin", "masters", "a", "b", "nobody", "anonymous"] as const)
      await isSame({ user }, "root");
  });

  it("is not routed to another cluster by a token that is no longer valid, or by none", async () => {
    const token = await tokenOf("a");
    const [head = "", body = "", signature = ""] = token.split(".");
    const claims = Buffer.from(body, "base64url").toString().replace('"a"', '"b"');
    const forged = [head, Buffer.from(claims).toString("base64url"), signature].join(".");
    for (const wrong of [forged, `${token}x`, "eyJ"])
      assert.equal((await server.get(`${configMaps}/c`, bearer(wrong))).status, 401);
  });

  it("reaches no other cluster, while a request with a cluster goes there as before", async () => {
    const options = bearer(await tokenOf("a"));
    const { headers } = options;
    for (const other of ["root", "b"]) {
      const named = await server.get(`/clusters/${other}${configMaps}/c`, options);
      const byHeader = await server.get(`${configMaps}/c`, {
        ...options,
        headers: { ...headers, "x-kubernetes-cluster": other },
      });
      assert.deepEqual([named.status, byHeader.status], [403, 403]);
    }
    const own = { ...options, headers: { ...headers, "x-kubernetes-cluster": "a" } };
    assert.deepEqual((await server.get(`${configMaps}/c`, own)).object.data, { of: "a" });
  });

  it("of an impersonator goes to the impersonator's own cluster", async () => {
    const options = bearer(await tokenOf("a"));
    const as = { "impersonate-user": "system:serviceaccount:default:robot" };
    const extra = { "impersonate-extra-authentication.kcp.io%2Fcluster-name": "b" };
    const headers = { ...options.headers, ...as, ...extra };
    await isSame({ ...options, headers }, "a");
    // A system:masters user that impersonates names no service account.
    await isSame({ user: "masters", headers: { ...as, ...extra } }, "root");
  });

  it("writes where it reads, and watches there", async () => {
    const options = bearer(await tokenOf("b"));
    const watch = await server.watch(`${configMaps}?watch=true&resourceVersion=0`, options);
    const body = { metadata: { name: "made" }, data: { by: "b" } };
    await server.requestOk("POST", configMaps, { ...options, body });
    const statuses = await Promise.all(
      everywhere.map(
        async (cluster) => (await server.get(`/clusters/${cluster}${configMaps}/made`)).status,
      ),
    );
    assert.deepEqual(statuses, [404, 404, 200]);
    const names = new Set<string>();
    while (!names.has("made")) {
      const event = await watch.next();
      assert.ok(event !== undefined);
      const { object } = event;
      names.add(object.metadata.name ?? "");
      if (object.metadata.name === "c") assert.deepEqual(object.data, { of: "b" });
    }
    await watch.leave();
  });

  it("is audited with the cluster that it went to", async () => {
    const options = bearer(await tokenOf("a"));
    audited.length = 0;
    await server.get(`${configMaps}/c`, options);
    await server.get(`${configMaps}/c`, { user: "b" });
    const clusters = audited.map(
      ({ annotations }) => (annotations as Record<string, string>)["kcp.io/cluster"],
    );
    assert.deepEqual([...new Set(clusters)], ["a", "root"]);
  });
});

async function fill(server: Server, cluster: string): Promise<void> {
  const base = `/clusters/${cluster}/api/v1/namespaces/default`;
  const metadata = (name: string) => ({ metadata: { name } });
  await server.requestOk("POST", `${base}/serviceaccounts`, { body: metadata("robot") });
  const configMap = { ...metadata("c"), data: { of: cluster } };
  await server.requestOk("POST", `${base}/configmaps`, { body: configMap });
  await server.requestOk("POST", `${base}/secrets`, { body: metadata("s") });
  const roles = new RoleWriter(server, cluster);
  const verbs = ["get", "list", "watch", "create", "patch", "delete", "impersonate"];
  await roles.clusterRole("robot", [
    { verbs, apiGroups: [""], resources: ["configmaps", "serviceaccounts"] },
    { verbs, apiGroups: ["authentication.k8s.io"], resources: ["userextras/*"] },
    { verbs: ["get"], nonResourceURLs: ["*"] },
  ]);
  const binding = {
    ...metadata("robot"),
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "robot" },
    subjects: [{ kind: "ServiceAccount", namespace: "default", name: "robot" }],
  };
  await roles.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding);
}
