/**
 * What a syncer writes on objects beyond the names that all parts share (`../api`): marks on what it made downstream, and words for what went
 * wrong upstream. docs/guides/sync-protocol.md lists all of them; a test compares.
 */

/** On downstream objects: where they come from, as JSON (see `origin.ts`). */
export const originAnnotation = "workload.kcp.io/origin";
/** On downstream objects: the hash of what was applied. The same hash again means that upstream has not changed. */
export const appliedHashAnnotation = "workload.kcp.io/applied-hash";
/** On downstream objects: the generation of the upstream object that was applied, for `observedGeneration` on the way back. */
export const appliedGenerationAnnotation = "workload.kcp.io/applied-generation";

/** On upstream objects, `<prefix><SyncTarget>`: why it is not in sync, as JSON. Absent when it is. */
export const syncedAnnotationPrefix = "synced.workload.kcp.io/";

export function syncedAnnotation(target: string): string {
  return syncedAnnotationPrefix + target;
}

/** On upstream objects, `<prefix><SyncTarget>`: the hash of the spec diff that the cluster has. What the status says is not from before it. */
export const appliedDiffAnnotationPrefix = "applied-spec-diff.workload.kcp.io/";

export function appliedDiffAnnotation(target: string): string {
  return appliedDiffAnnotationPrefix + target;
}

/** On upstream ConfigMaps: they hold policies for the SyncTarget of this name; for all, if empty. */
export const syncPolicyLabel = "workload.kcp.io/sync-policy";

/** What can stand in the `reason` of the annotation above and of Events. */
export const syncErrorReasons = [
  "AlreadyExists",
  "NamespaceCollision",
  "NamespaceTerminating",
  "Invalid",
  "ImmutableField",
  "QuotaExceeded",
  "AdmissionRefused",
  "TooLarge",
  "Forbidden",
  "Unauthorized",
  "KindMissing",
  "FieldContested",
  "Unreachable",
  "Failed",
] as const;

export type SyncErrorReason = (typeof syncErrorReasons)[number];
