/**
 * The effect of a StatefulSet's `persistentVolumeClaimRetentionPolicy` on claims that the control
 * plane creates. A claim is marked while its ordinal is in use: with the set as its owner if it is
 * to be deleted with the set, and with an annotation if it is to be deleted when it is scaled down.
 * Only marked claims are deleted: a user who turns the policy on does not lose claims that were
 * scaled down, and retained, before. Pure.
 */
import type { OwnerReference } from "@kcp-ts/sdk";
import { deleteWhenScaledAnnotation } from "../api/index.ts";
import { ordinalClaimName } from "../coordination/index.ts";
import { countAt, objectAt, type StoredObject, textAt } from "./objects.ts";
import { hasOnlyItsOwn, type OrdinalSet } from "./ordinal-users.ts";

export interface Retention {
  /** The claims whose marks are to change. */
  readonly marked: readonly StoredObject[];
  readonly deleted: readonly StoredObject[];
}

export function retentionOf(
  { workload, templates, users }: OrdinalSet,
  claims: readonly StoredObject[],
): Retention {
  const { object: set, copies } = workload;
  const used = new Set(users.map(({ ordinal }) => ordinal));
  const start = countAt(objectAt(set.spec, "ordinals"), "start", 0);
  const end = start + countAt(set.spec, "replicas", 1);
  const isScaledAway = (ordinal: number) =>
    !used.has(ordinal) && (ordinal < start || ordinal >= end);
  // A copy that has not reported that it runs only its desired replicas may still use the claim.
  const isCalm = copies.every(hasOnlyItsOwn);
  const prefixes = templates.map((one) =>
    ordinalClaimName(one.name, set.metadata.name, 0).slice(0, -1),
  );
  const [marked, deleted]: [StoredObject[], StoredObject[]] = [[], []];
  for (const claim of claims) {
    const ordinal = ordinalOf(claim.metadata.name, prefixes);
    if (ordinal === undefined || claim.metadata.deletionTimestamp !== undefined) continue;
    const isMarked = claim.metadata.annotations?.[deleteWhenScaledAnnotation] === set.metadata.uid;
    if (used.has(ordinal)) {
      const wanted = withPolicy(claim, set);
      if (wanted !== undefined) marked.push(wanted);
    } else if (isMarked && isCalm && isScaledAway(ordinal) && policyOf(set, "whenScaled"))
      deleted.push(claim);
  }
  return { marked, deleted };
}

function ordinalOf(name: string, prefixes: readonly string[]): number | undefined {
  const prefix = prefixes.find((one) => name.startsWith(one));
  const text = prefix === undefined ? "" : name.slice(prefix.length);
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function policyOf({ spec }: StoredObject, when: "whenDeleted" | "whenScaled"): boolean {
  return textAt(objectAt(spec, "persistentVolumeClaimRetentionPolicy"), when) === "Delete";
}

/** Undefined when nothing changes. */
function withPolicy(claim: StoredObject, set: StoredObject): StoredObject | undefined {
  const { metadata } = claim;
  const { uid = "" } = set.metadata;
  const owners = metadata.ownerReferences ?? [];
  const isOwned = owners.some((one) => one.uid === uid);
  const isMarked = metadata.annotations?.[deleteWhenScaledAnnotation] !== undefined;
  const marked = metadata.annotations?.[deleteWhenScaledAnnotation] === uid;
  const [mayGo, goesWhenScaled] = [policyOf(set, "whenDeleted"), policyOf(set, "whenScaled")];
  if (isOwned === mayGo && (goesWhenScaled ? marked : !isMarked)) return undefined;
  const others = owners.filter((one) => one.uid !== uid);
  const { [deleteWhenScaledAnnotation]: _, ...annotations } = metadata.annotations ?? {};
  return {
    ...claim,
    metadata: {
      ...metadata,
      ownerReferences: mayGo ? [...others, ownerOf(set)] : others,
      annotations: {
        ...annotations,
        ...(goesWhenScaled ? { [deleteWhenScaledAnnotation]: uid } : {}),
      },
    },
  };
}

/** The owner reference as a cluster writes it. */
export function ownerOf({ metadata: { name, uid = "" } }: StoredObject): OwnerReference {
  return { apiVersion: "apps/v1", kind: "StatefulSet", name, uid };
}
