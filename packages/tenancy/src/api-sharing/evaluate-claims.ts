/**
 * Evaluates the answers of a binding to the claims of its export: the accepted claims, and the
 * condition on their validity, in upstream's words.
 */
import { jsonEqual } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import type { Condition } from "../workspaces/index.ts";
import type { Claim, ClaimSelector } from "./records.ts";

export interface ClaimEvaluation {
  readonly valid: Condition;
  readonly applied: readonly Claim[];
}

/** Accepted are the claims that the export has and the binding accepts. */
export function evaluateClaims(
  asked: readonly Claim[],
  answered: readonly Claim[],
): ClaimEvaluation {
  const unexpected: string[] = [];
  const differing: string[] = [];
  const applied: Claim[] = [];
  for (const claim of answered) {
    if (claim.state !== "Accepted") continue;
    const wanted = asked.find((one) => isSameResource(one, claim));
    if (wanted === undefined) {
      const { identityHash } = claim;
      unexpected.push(
        `unexpected/invalid claim for ${resourceOf(claim)} (identity ${quote(identityHash)})`,
      );
      continue;
    }
    applied.push(claim);
    const differences = differencesOf(claim, wanted);
    if (differences.length > 0) differing.push(`${resourceOf(claim)} (${differences.join("; ")})`);
  }
  const type = "PermissionClaimsValid";
  if (unexpected.length > 0) {
    const shown = unexpected.slice(0, unexpectedShownMax);
    const list = shown.length === 1 ? shown[0] : `[${shown.join(", ")}]`;
    const message = `${unexpected.length} unexpected and/or invalid permission claims (showing first ${shown.length}): ${list}`;
    const severity = "Error";
    return {
      applied,
      valid: { type, status: "False", severity, reason: "InvalidPermissionClaims", message },
    };
  }
  if (differing.length > 0) {
    const shown = differing.slice(0, differingShownMax);
    const message = `${differing.length} permission claim(s) have mismatched verbs or selectors (showing first ${shown.length}): ${shown.join(", ")}`;
    const severity = "Warning";
    return {
      applied,
      valid: { type, status: "False", severity, reason: "PermissionClaimsMismatch", message },
    };
  }
  return { applied, valid: { type, status: "True" } };
}

const unexpectedShownMax = 10;
const differingShownMax = 5;

/** The verb `*` matches any verbs. */
function differencesOf(claim: Claim, wanted: Claim): readonly string[] {
  const differences: string[] = [];
  const isAny = [claim, wanted].some(({ verbs }) => verbs.includes("*"));
  if (!isAny && !isSameSet(claim.verbs, wanted.verbs))
    differences.push(
      `verbs: accepted [${claim.verbs.join(" ")}], exported [${wanted.verbs.join(" ")}]`,
    );
  if (wanted.selector !== undefined && !isSameSelector(claim.selector, wanted.selector))
    differences.push("selector differs from defaultSelector");
  return differences;
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.every((one) => b.includes(one)) && b.every((one) => a.includes(one));
}

function isSameSelector(a: ClaimSelector | undefined, b: ClaimSelector): boolean {
  return (
    a?.matchAll === b.matchAll &&
    jsonEqual(a.matchLabels, b.matchLabels) &&
    jsonEqual([...a.matchExpressions], [...b.matchExpressions])
  );
}

function resourceOf({ resource, group }: Claim): string {
  return `${resource}.${group}`;
}

export function isSameResource(a: Claim, b: Claim): boolean {
  return a.resource === b.resource && a.group === b.group && a.identityHash === b.identityHash;
}
