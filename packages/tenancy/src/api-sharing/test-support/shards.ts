/** The objects of tests with several shards: exports, roles, and the names of logical clusters. */
import type { TestContext } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { startTestShards, type TestShards } from "../../testing/index.ts";
import { apis, cowboyExport, cowboySchema } from "./cowboys.ts";

export const masters = { user: "masters" } as const;
export const onB = "0123456789abcdef--b";
export const alsoOnB = "1123456789abcdef--b";
export const onC = "0123456789abcdef--c";
export const provider = "provider";
export const inDefault = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";

export async function started(context: TestContext, names = ["root", "b"]): Promise<TestShards> {
  const shards = await startTestShards({ names });
  context.after(() => shards.close());
  return shards;
}

export const until = (shards: TestShards, what: string, isSo: () => Promise<boolean>) =>
  shards.until(what, isSo);

export async function offerOn(
  shards: TestShards,
  shard: string,
  cluster: string,
  spec: object = {},
) {
  const server = shards.get(shard);
  const schema = cowboySchema("today");
  await server.requestOk("POST", `${apis(cluster, "v1alpha1")}/apiresourceschemas`, {
    ...masters,
    body: schema,
  });
  await server.requestOk("POST", `${apis(cluster)}/apiexports`, {
    ...masters,
    body: cowboyExport("today", spec),
  });
  await until(
    shards,
    "the export has an identity",
    async () => identityIn(await exportOf(shards, shard, cluster)) !== "",
  );
}

export function exportOf(shards: TestShards, shard: string, cluster: string): Promise<AnyObject> {
  return shards.get(shard).requestOk("GET", `${apis(cluster)}/apiexports/cowboys`, masters);
}

export function identityIn(exported: AnyObject): string {
  return String((exported["status"] as { identityHash?: string } | undefined)?.identityHash ?? "");
}

export const statusOf = (object: AnyObject) => object["status"] as Record<string, unknown>;
export const conditionIn = (object: AnyObject, type: string) =>
  (
    (statusOf(object)["conditions"] ?? []) as { type: string; status: string; message?: string }[]
  ).find((one) => one.type === type);

export const services = (exported: string, cluster = "*") =>
  `/services/apiexport/${exported}/cowboys/clusters/${cluster}`;
export const cowboysOfAll = `${services(provider)}/apis/wildwest.dev/v1alpha1/cowboys`;
export const shardObjects = "/clusters/root/apis/core.kcp.io/v1alpha1/shards";

export async function labelShard(shards: TestShards, name: string, labels: object): Promise<void> {
  const root = shards.get("root");
  const path = `${shardObjects}/${name}`;
  await shards.until(
    `root knows ${name}`,
    async () => (await root.get(path, masters)).status === 200,
  );
  await root.patch(path, "merge", { metadata: { labels } }, masters);
}

export function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export const rbac = (cluster: string, kind: string) =>
  `/clusters/${cluster}/apis/rbac.authorization.k8s.io/v1/${kind.toLowerCase()}s`;
export const adminBinding = (name: string) => ({
  kind: "ClusterRoleBinding",
  metadata: { name: "admin-for-test" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
});
export const bindRole = {
  kind: "ClusterRole",
  metadata: { name: "binder" },
  rules: [{ apiGroups: ["apis.kcp.io"], resources: ["apiexports"], verbs: ["bind"] }],
};
export const bindRoleBinding = (name: string) => ({
  kind: "ClusterRoleBinding",
  metadata: { name: "binder" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "binder" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
});
export const contentRole = {
  kind: "ClusterRole",
  metadata: { name: "content" },
  rules: [{ apiGroups: ["apis.kcp.io"], resources: ["apiexports/content"], verbs: ["*"] }],
};
export const contentRoleBinding = (name: string) => ({
  ...bindRoleBinding(name),
  metadata: { name: "content" },
  roleRef: { ...bindRoleBinding(name).roleRef, name: "content" },
});
export const useRole = {
  kind: "ClusterRole",
  metadata: { name: "use" },
  rules: [{ apiGroups: ["tenancy.kcp.io"], resources: ["workspacetypes"], verbs: ["use"] }],
};
export const useRoleBinding = {
  ...bindRoleBinding(""),
  metadata: { name: "use" },
  roleRef: { ...bindRoleBinding("").roleRef, name: "use" },
  subjects: [
    { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:authenticated" },
  ],
};
