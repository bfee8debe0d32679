/**
 * The effect of a DELETE on an object: remove it, mark it as deleted, or nothing because it is
 * marked already. Pure.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { fieldError, statusError } from "@kcp-ts/machinery/status";
import { timestamp } from "./prepare.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { Draft } from "./strategy.ts";

export interface DeleteRequest {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground" | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  /** Deletes a value that cannot be read, and no other. */
  readonly ignoresReadError?: boolean | undefined;
}

/** The member of DeleteOptions by which a value that cannot be read is deleted. */
export const ignoreReadErrorOption = "ignoreStoreReadErrorWithClusterBreakingPotential";

export type DeletionStep =
  | { readonly kind: "remove" }
  | { readonly kind: "mark"; readonly object: JsonObject }
  | { readonly kind: "none" };

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

export function planDeletion(
  definition: ResourceDefinition,
  name: string,
  old: JsonObject,
  request: DeleteRequest,
  nowMs: number,
): DeletionStep {
  const metadata = old["metadata"] as JsonObject;
  checkPreconditions(definition, name, metadata, request);

  const isMarked = metadata["deletionTimestamp"] !== undefined;
  const finalizers = isMarked
    ? finalizersOf(metadata)
    : finalizersFor(definition, name, metadata, request);
  const graceSeconds =
    definition.strategy.gracePeriodSeconds?.(old, request.gracePeriodSeconds) ?? 0;
  const isHeldBack =
    graceSeconds > 0 ||
    finalizers.length > 0 ||
    definition.strategy.isRemovalBlocked?.(old) === true;
  if (!isHeldBack) return { kind: "remove" };
  // Once the object is marked, its remaining grace period can only get shorter.
  const leftSeconds = Number(metadata["deletionGracePeriodSeconds"] ?? 0);
  if (isMarked && graceSeconds >= leftSeconds) return { kind: "none" };

  const marked: Draft = { ...metadata, deletionTimestamp: timestamp(nowMs + graceSeconds * 1000) };
  // A kind with a finalization of its own has no grace period.
  if (definition.strategy.isRemovalBlocked === undefined) {
    marked["deletionGracePeriodSeconds"] = graceSeconds;
  }
  if (finalizers.length > 0) marked["finalizers"] = finalizers;
  else delete marked["finalizers"];
  if (!isMarked && typeof marked["generation"] === "number" && marked["generation"] > 0)
    marked["generation"]++;
  const draft: Draft = { ...old, metadata: marked };
  definition.strategy.prepareForDelete?.(draft);
  return { kind: "mark", object: draft };
}

function checkPreconditions(
  definition: ResourceDefinition,
  name: string,
  metadata: JsonObject,
  { uid, resourceVersion }: DeleteRequest,
): void {
  if (uid !== undefined && uid !== metadata["uid"]) {
    const actual = String(metadata["uid"]);
    throw statusError.conflict(
      definition.strategy.isRemovalBlocked === undefined ? kindAsResource(definition) : definition,
      name,
      // Upstream, kinds with a finalization of their own also check preconditions on their own,
      // with other messages.
      definition.strategy.isRemovalBlocked === undefined
        ? `the UID in the precondition (${uid}) does not match the UID in record (${actual}). The object might have been deleted and then recreated`
        : `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${actual}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata["resourceVersion"]) {
    throw statusError.conflict(
      kindAsResource(definition),
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${String(metadata["resourceVersion"])}). The object might have been modified`,
    );
  }
}

/** These errors name the kind where others name the resource, as in Kubernetes. */
function kindAsResource({ group, kind }: ResourceDefinition): { group: string; resource: string } {
  return { group, resource: kind };
}

/**
 * The propagation policy decides on the two garbage-collection finalizers; without one, existing
 * ones stay.
 */
function finalizersFor(
  definition: ResourceDefinition,
  name: string,
  metadata: JsonObject,
  { propagationPolicy }: DeleteRequest,
): string[] {
  const present = finalizersOf(metadata);
  const has = (finalizer: string) => present.includes(finalizer);
  const wantsOrphan =
    propagationPolicy === undefined ? has(orphanFinalizer) : propagationPolicy === "Orphan";
  const wantsForeground =
    propagationPolicy === undefined ? has(foregroundFinalizer) : propagationPolicy === "Foreground";
  if (wantsOrphan && wantsForeground) {
    throw statusError.invalid(definition, name, [
      fieldError.invalid(
        "metadata.finalizers",
        present,
        "finalizer orphan and foregroundDeletion cannot be both set",
      ),
    ]);
  }
  const others = present.filter(
    (finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer,
  );
  if (wantsOrphan) others.push(orphanFinalizer);
  if (wantsForeground) others.push(foregroundFinalizer);
  return others;
}

function finalizersOf(metadata: JsonObject): string[] {
  const finalizers = metadata["finalizers"];
  return Array.isArray(finalizers) ? (finalizers as string[]) : [];
}
