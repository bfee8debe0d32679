/**
 * The names that only a syncer writes on objects, in addition to the shared names in `../api`:
 * labels and annotations on its downstream objects, and reasons of sync errors upstream.
 * docs/guides/sync-protocol.md lists all of them; a test compares.
 */

/**
 * On downstream objects: the upstream object that they are a copy of, as JSON (see `origin.ts`).
 */
export const originAnnotation = "workload.kcp.io/origin";
/**
 * On downstream objects: the hash of the applied object. An equal hash means that the upstream
 * object has not changed.
 */
export const appliedHashAnnotation = "workload.kcp.io/applied-hash";
/**
 * On downstream objects: the generation of the upstream object that was applied, for
 * `observedGeneration` in the upsynced status.
 */
export const appliedGenerationAnnotation = "workload.kcp.io/applied-generation";

/**
 * On upstream objects, `<prefix><SyncTarget>`: the hash of the spec diff that the cluster has
 * applied. The status is at least as new.
 */
export const appliedDiffAnnotationPrefix = "applied-spec-diff.workload.kcp.io/";

export function appliedDiffAnnotation(target: string): string {
  return appliedDiffAnnotationPrefix + target;
}

/** The values of `reason` in `syncErrorAnnotation` and in Events. */
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
  "FieldConflict",
  "Unreachable",
  "Failed",
] as const;

export type SyncErrorReason = (typeof syncErrorReasons)[number];
