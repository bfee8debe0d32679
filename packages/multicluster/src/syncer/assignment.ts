/**
 * The SyncTargets that an upstream object is related to: those that it is assigned to, and those
 * that still hold it by a finalizer.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import {
  assignedTargets,
  deletionAnnotation,
  softFinalizersOf,
  statesOf,
  stateUpsync,
  syncerFinalizer,
  syncerFinalizerPrefix,
} from "../api/index.ts";

export interface Metadata {
  readonly labels?: StringMap | undefined;
  readonly annotations?: StringMap | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly deletionTimestamp?: string | undefined;
}

/** The SyncTargets that the object is assigned to, held for by a finalizer, or synced up from. */
export function relatedTargets(metadata: Metadata): ReadonlySet<string> {
  const targets = new Set(assignedTargets(metadata.labels));
  for (const [target, state] of statesOf(metadata.labels)) {
    if (state === stateUpsync) targets.add(target);
  }
  for (const finalizer of metadata.finalizers ?? []) {
    if (finalizer.startsWith(syncerFinalizerPrefix)) {
      targets.add(finalizer.slice(syncerFinalizerPrefix.length));
    }
  }
  return targets;
}

export function isHeldBy({ finalizers }: Metadata, target: string): boolean {
  return finalizers?.includes(syncerFinalizer(target)) === true;
}

/**
 * Whether the object should be in the SyncTarget. Soft finalizers keep a copy there, assigned or
 * not.
 */
export function desiredPresence(metadata: Metadata, target: string): "stay" | "leave" {
  const isLeaving =
    metadata.deletionTimestamp !== undefined ||
    stringMember(metadata.annotations, deletionAnnotation(target)) !== undefined;
  if (!isLeaving && assignedTargets(metadata.labels).has(target)) return "stay";
  const isNeeded = softFinalizersOf(metadata.annotations, target).length > 0;
  return isNeeded && isHeldBy(metadata, target) ? "stay" : "leave";
}
