/**
 * Warnings on entering a workspace about permission claims of its APIBindings that are neither
 * accepted nor rejected.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { DynamicObject } from "@kcp-ts/sdk";
import { apiBindings, nameOf } from "./bind-export.ts";
import type { Session } from "./session.ts";

interface Claim {
  readonly group: string;
  readonly resource: string;
  readonly identityHash?: string;
  readonly verbs?: readonly string[];
  readonly state?: string;
}

export async function warnOfPermissionClaims(session: Session, workspace: string): Promise<void> {
  let bindings: readonly DynamicObject[];
  try {
    bindings = (await session.clientIn(workspace).resource(apiBindings).list()).items;
  } catch (error) {
    // A user who may enter the workspace need not be allowed to list bindings.
    if (isStatusError(error, "Forbidden") || isStatusError(error, "NotFound")) return;
    throw error;
  }
  for (const binding of bindings)
    for (const text of unansweredPermissionClaims(binding)) session.note(text);
}

export function unansweredPermissionClaims(binding: DynamicObject): readonly string[] {
  const name = binding.metadata.name ?? "";
  const { permissionClaims: answered = [] } = binding["spec"] as {
    permissionClaims?: readonly Claim[];
  };
  const { exportPermissionClaims: asked = [] } = (binding["status"] ?? {}) as {
    exportPermissionClaims?: readonly Claim[];
  };
  return asked.flatMap((claim) => {
    const answer = answered.find((one) => isSame(one, claim));
    const what = nameOf(claim);
    if (answer === undefined)
      return [`Warning: claim for ${what} exported but not specified on APIBinding ${name}`];
    if (answer.state !== "Accepted" && answer.state !== "Rejected")
      return [
        `Warning: claim for ${what} specified on APIBinding ${name} but not accepted or rejected.`,
      ];
    const [allowed, expected] = [verbsOf(answer), verbsOf(claim)];
    if (answer.state === "Rejected" || allowed === expected) return [];
    return [
      `Warning: allowed verbs (${allowed}) on claim for ${what} on APIBinding ${name} do not match expected verbs (${expected}).`,
    ];
  });
}

function isSame(a: Claim, b: Claim): boolean {
  return nameOf(a) === nameOf(b) && (a.identityHash ?? "") === (b.identityHash ?? "");
}

function verbsOf({ verbs = [] }: Claim): string {
  return [...verbs].sort().join(",");
}
