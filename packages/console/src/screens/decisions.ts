/** What users decide and type, and what the server has decided, as data. Pure. */
import type { APIBinding } from "@kcp-ts/sdk/kinds";
import type { Condition } from "../elements/index.ts";

export type Decided = NonNullable<APIBinding["spec"]["permissionClaims"]>[number];

export interface Claim {
  readonly group: string;
  readonly resource: string;
  readonly identityHash: string | undefined;
  readonly verbs: readonly string[];
  /** Undefined while nobody has decided. */
  readonly decided: Decided | undefined;
}

/** The claims of the export, and those that were decided on and are no longer claimed. Pure. */
export function claimsOf({ spec, status = {} }: APIBinding): readonly Claim[] {
  const decisions = spec.permissionClaims ?? [];
  const keyOf = ({ group = "", resource, identityHash = "" }: Partial<Decided>) =>
    `${resource} ${group} ${identityHash}`;
  const decided = new Map(decisions.map((one) => [keyOf(one), one]));
  const asked = new Map(
    [...(status.exportPermissionClaims ?? []), ...decisions].map((one) => [
      keyOf(one),
      { verbs: one.verbs ?? [], ...one },
    ]),
  );
  return [...asked].map(([key, { group = "", resource, identityHash, verbs }]) => ({
    group,
    resource,
    identityHash,
    verbs,
    decided: decided.get(key),
  }));
}

/** All decisions, with this one changed. */
export function decide(
  { spec }: APIBinding,
  claim: Claim,
  state: Decided["state"],
  selector: Decided["selector"],
): readonly Decided[] {
  const { group, resource, identityHash, verbs, decided } = claim;
  const others = (spec.permissionClaims ?? []).filter((one) => one !== decided);
  const named = { ...(group === "" ? {} : { group }), resource };
  const of = identityHash === undefined ? {} : { identityHash };
  return [...others, { ...named, ...of, verbs, state, selector }];
}

export interface Negotiation {
  readonly isWell: boolean;
  readonly state: string;
  /** The field that blocks, and what to do next, in the words of the negotiation. */
  readonly message: string;
}

/** Without a condition the import has not been looked at yet. */
export function negotiationState(conditions: readonly Condition[]): Negotiation {
  const bad = conditions.find(({ status }) => status !== "True");
  if (bad !== undefined) {
    const { type, reason = type, message = "" } = bad;
    // Clusters take part by another version: nothing is to be mended.
    return { isWell: reason === "OtherVersionPublished", state: reason, message };
  }
  const compatible = conditions.find(({ type }) => type === "Compatible");
  return {
    isWell: compatible !== undefined,
    state: compatible?.reason ?? "Negotiating",
    message: compatible?.message ?? "",
  };
}

/** `us-east1=2, us-west1=1`; undefined for a text that says something else. */
export function parseWeights(text: string): Readonly<Record<string, number>> | undefined {
  const pairs = text.split(",").map((part) => /^\s*([a-z0-9.-]+)\s*=\s*(\d+)\s*$/.exec(part));
  if (pairs.includes(null)) return undefined;
  return Object.fromEntries(pairs.map((match) => [match?.[1] ?? "", Number(match?.[2])]));
}

/** `tier=web` sets a label, `tier-` removes it, as kubectl label does. */
export function parseLabelChanges(
  text: string,
): Readonly<Record<string, string | null>> | undefined {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  const pairs = parts.map((part) => /^([^=\s]+?)(?:=([^=\s]*)|(-))$/.exec(part));
  if (pairs.length === 0 || pairs.includes(null)) return undefined;
  return Object.fromEntries(
    pairs.map((match) => [match?.[1] ?? "", match?.[3] === "-" ? null : (match?.[2] ?? "")]),
  );
}
