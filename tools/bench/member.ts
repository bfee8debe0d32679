/**
 * The user of benchmarks of tenants: somebody who owns what they make, and has no other rights than
 * to make workspaces in root.
 */
import { ApiClient } from "./api-client.ts";
import { benchToken, memberToken, type ServerProcess } from "./server-process.ts";

const rbac = "rbac.authorization.k8s.io";

/** A client of theirs. */
export async function memberOf({ url }: Pick<ServerProcess, "url">): Promise<ApiClient> {
  const admin = new ApiClient({ url, token: benchToken });
  const make = (resource: string, body: object) =>
    admin.must("POST", `/clusters/root/apis/${rbac}/v1/${resource}`, JSON.stringify(body));
  const metadata = { name: "members-make-workspaces" };
  const rules = [
    { apiGroups: ["tenancy.kcp.io"], resources: ["workspaces"], verbs: ["create", "delete"] },
  ];
  await make("clusterroles", { metadata, rules });
  await make("clusterrolebindings", {
    metadata,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: metadata.name },
    subjects: [{ apiGroup: rbac, kind: "User", name: memberToken }],
  });
  admin.close();
  return new ApiClient({ url, token: memberToken });
}
