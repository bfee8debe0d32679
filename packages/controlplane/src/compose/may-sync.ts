/** Who may be the syncer of a SyncTarget: who has the verb `sync` on it. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { syncTargets } from "@kcp-ts/multicluster";
import type { Authorizer, UserInfo } from "@kcp-ts/server";

export async function maySync(
  authorizer: Authorizer,
  user: UserInfo,
  { cluster, name }: { readonly cluster: ClusterName; readonly name: string },
): Promise<boolean> {
  const { group, version, resource } = syncTargets;
  const { allowed } = await authorizer.authorize({
    ...{ user, cluster, group, version, resource, name, verb: "sync" },
    subresource: "",
    namespace: "",
    path: `/apis/${group}/${version}/${resource}/${name}`,
    isResourceRequest: true,
  });
  return allowed;
}
