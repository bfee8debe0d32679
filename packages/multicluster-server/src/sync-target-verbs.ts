/** The special verbs of SyncTargets. */
import type { Authorizer, UserInfo } from "@kcp-ts/apiserver";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { syncTargets } from "@kcp-ts/multicluster";

/**
 * Whether a user may let this server connect to a physical cluster: requires the verb `register` on
 * SyncTargets in `root`, for clusters of any workspace. A tenant decides about its own workspace;
 * the operator decides about the addresses that this server connects to.
 */
export async function mayRegister(authorizer: Authorizer, user: UserInfo): Promise<boolean> {
  const { group, version, resource } = syncTargets;
  const { allowed } = await authorizer.authorize({
    user,
    cluster: rootCluster,
    group,
    version,
    resource,
    name: "",
    verb: "register",
    subresource: "",
    namespace: "",
    path: `/apis/${group}/${version}/${resource}`,
    isResourceRequest: true,
  });
  return allowed;
}

/** Whether a user may be the syncer of a SyncTarget: requires the verb `sync` on it. */
export async function maySync(
  authorizer: Authorizer,
  user: UserInfo,
  { cluster, name }: { readonly cluster: ClusterName; readonly name: string },
): Promise<boolean> {
  const { group, version, resource } = syncTargets;
  const { allowed } = await authorizer.authorize({
    user,
    cluster,
    group,
    version,
    resource,
    name,
    verb: "sync",
    subresource: "",
    namespace: "",
    path: `/apis/${group}/${version}/${resource}/${name}`,
    isResourceRequest: true,
  });
  return allowed;
}
