/**
 * The maximal permission policy of upstream's export tenancy.kcp.io: it limits all users in every
 * workspace, whatever the roles there grant. Here these resources are built in, and so is the
 * policy.
 */
import type { Attributes } from "@kcp-ts/apiserver/request/attributes";
import { wellKnownGroup } from "@kcp-ts/apiserver/request/user";
import { workspaces } from "../workspaces/index.ts";

/** The policy does not limit members of these groups. */
const exempt = [wellKnownGroup.kcpAdmin, "system:kcp:tenancy:workspace-bootstrapper"];
const readVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/**
 * Authenticated users may read the status of Workspaces and WorkspaceTypes, and only the system may
 * write it; authenticated users may do everything else.
 */
export function isWithinTenancyPolicy({ group, subresource, verb, user }: Attributes): boolean {
  if (group !== workspaces.group) return true;
  if (exempt.some((one) => user.groups.includes(one))) return true;
  if (!user.groups.includes(wellKnownGroup.authenticated)) return false;
  return subresource === "" || readVerbs.has(verb);
}
