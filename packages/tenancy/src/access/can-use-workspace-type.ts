/**
 * Whether a user may use a WorkspaceType: the authorizer's decision on the verb `use`, independent
 * of the user's access to the content of the type's workspace.
 */
import type { Authorizer } from "@kcp-ts/apiserver/authorization";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { workspaceTypes } from "../workspaces/index.ts";

export function canUseWorkspaceType(
  authorizer: Authorizer,
): (user: UserInfo, cluster: ClusterName, type: string) => Promise<boolean> {
  const { group, version, resource } = workspaceTypes;
  return async (user, cluster, name) => {
    const { allowed } = await authorizer.authorize({
      user,
      verb: "use",
      cluster,
      group,
      version,
      resource,
      subresource: "",
      namespace: "",
      name,
      path: `/apis/${group}/${version}/${resource}/${name}`,
      isResourceRequest: true,
    });
    return allowed;
  };
}
