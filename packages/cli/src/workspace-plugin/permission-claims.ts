/** `kubectl kcp claims get|accept|reject`. */
import type { DynamicObject } from "@kcp-ts/sdk";
import { apiBindings, nameOf, parseClaim } from "./bind-export.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

export interface ClaimDecisionOptions {
  readonly resource?: string;
  readonly identityHash?: string;
}

interface Claim {
  readonly group: string;
  readonly resource: string;
  readonly identityHash?: string;
  readonly verbs?: readonly string[];
  readonly state: string;
}

export async function printPermissionClaims(
  session: Session,
  names: readonly string[],
): Promise<void> {
  const resource = session.clientIn(session.address.workspace).resource(apiBindings);
  const bindings =
    names.length === 0
      ? (await resource.list()).items
      : await Promise.all(names.map((name) => resource.get({ name })));
  const rows = [["APIBINDING", "GROUP-RESOURCE", "VERBS", "STATUS"]];
  for (const binding of bindings)
    for (const claim of claimsOf(binding))
      rows.push([
        binding.metadata.name ?? "",
        nameOf(claim),
        (claim.verbs ?? []).join(","),
        claim.state,
      ]);
  for (const line of textTable(rows)) session.print(line);
}

/** Changes the decision on claims that the binding already lists. */
export async function updatePermissionClaims(
  session: Session,
  name: string,
  state: "Accepted" | "Rejected",
  options: ClaimDecisionOptions,
): Promise<void> {
  const { resource: asked, identityHash } = options;
  if (asked === undefined && identityHash === undefined)
    throw new Error("--resource or --identity-hash is required");
  const wanted = asked === undefined ? undefined : claimNamed(asked);
  const isMeant = (claim: Claim) =>
    (wanted === undefined || nameOf(claim) === wanted) &&
    (identityHash === undefined || claim.identityHash === identityHash);
  const resource = session.clientIn(session.address.workspace).resource(apiBindings);
  const binding = await resource.get({ name });
  const claims = claimsOf(binding);
  const what =
    wanted === undefined ? `claim with identity hash "${identityHash}"` : `claim "${wanted}"`;
  if (!claims.some(isMeant)) throw new Error(`${what} not found on APIBinding "${name}"`);
  const permissionClaims = claims.map((claim) => (isMeant(claim) ? { ...claim, state } : claim));
  const spec = { ...(binding["spec"] as object), permissionClaims };
  await resource.update({ ...binding, spec } as never);
  session.print(`${what} on APIBinding "${name}" is ${state.toLowerCase()}`);
}

/** With or without its group: `secrets`, `secrets.core`, `cowboys.wildwest.dev`. */
function claimNamed(text: string): string {
  return text.includes(".") ? nameOf(parseClaim(text)) : text;
}

function claimsOf(binding: DynamicObject): readonly Claim[] {
  return (binding["spec"] as { permissionClaims?: readonly Claim[] }).permissionClaims ?? [];
}
