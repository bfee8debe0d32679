/**
 * The maximal permission policy that upstream's export of tenancy.kcp.io has: what nobody may do with its resources in any workspace, whatever the
 * roles there say. Here these resources are built in, and so is the policy.
 */
import type { Attributes } from "@kcp-ts/apiserver/request/attributes";
import { wellKnownGroup } from "@kcp-ts/apiserver/request/user";
import { workspaces } from "../workspaces/index.ts";

/** They may do everything, as far as the policy goes. */
const exempt = [wellKnownGroup.kcpAdmin, "system:kcp:tenancy:workspace-bootstrapper"];
const readVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/** The status of workspaces and types is read by whoever is known, and written by the system; the rest is for whoever is known. */
export function isWithinTenancyPolicy({ group, subresource, verb, user }: Attributes): boolean {
  if (group !== workspaces.group) return true;
  if (exempt.some((one) => user.groups.includes(one))) return true;
  if (!user.groups.includes(wellKnownGroup.authenticated)) return false;
  return subresource === "" || readVerbs.has(verb);
}
