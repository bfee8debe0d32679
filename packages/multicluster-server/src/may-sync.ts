/** What SyncTargets have verbs of their own for. */

import type { Authorizer, UserInfo } from "@kcp-ts/apiserver";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { syncTargets } from "@kcp-ts/multicluster";

/**
 * Who may have this server connect to a physical cluster: who has the verb `register` on SyncTargets in `root`, whichever workspace the cluster is for. What a tenant may do in
 * its own workspace is its own business; whom this server calls, reads and waits for is the operator's.
 */
export async function mayRegister(authorizer: Authorizer, user: UserInfo): Promise<boolean> {
  const { group, version, resource } = syncTargets;
  const { allowed } = await authorizer.authorize({
    ...{ user, cluster: rootCluster, group, version, resource, name: "", verb: "register" },
    subresource: "",
    namespace: "",
    path: `/apis/${group}/${version}/${resource}`,
    isResourceRequest: true,
  });
  return allowed;
}

/** Who may be the syncer of a SyncTarget: who has the verb `sync` on it. */
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
