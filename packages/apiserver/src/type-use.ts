/** Whether somebody may use a type of workspaces: what authorization says of the verb `use`, whatever else they may where the type is. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Authorizer } from "./authorization/index.ts";
import type { MaybePromise } from "./request/api-request.ts";
import type { UserInfo } from "./request/user.ts";
import { workspaceTypes } from "./tenancy/index.ts";

export function useOfType(
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
