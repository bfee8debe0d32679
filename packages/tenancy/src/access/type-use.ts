/** Whether somebody may use a type of workspaces: what authorization says of the verb `use`, whatever else they may where the type is. */

import type { Authorizer } from "@kcp-ts/apiserver/authorization";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { workspaceTypes } from "../workspaces/index.ts";

export function canUseWorkspaceType(
  authorizer: Authorizer,
): (user: UserInfo, cluster: ClusterName, type: string) => MaybePromise<boolean> {
  const { group, version, resource } = workspaceTypes;
  return (user, cluster, name) => {
    const decision = authorizer.authorize({
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
    return decision instanceof Promise ? decision.then(({ allowed }) => allowed) : decision.allowed;
  };
}
