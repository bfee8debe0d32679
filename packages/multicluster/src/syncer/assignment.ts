/** Which SyncTargets an upstream object concerns: those it is assigned to, and those that still hold it. */
import { type KubernetesObject, stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  deletionAnnotation,
  softFinalizersAnnotation,
  statesOf,
  stateSync,
  stateUpsync,
  syncerFinalizerPrefix,
} from "../api/index.ts";

export type Metadata = Pick<
  KubernetesObject["metadata"],
  "labels" | "annotations" | "finalizers" | "deletionTimestamp"
>;

/** The ones that sync it down. */
export function assignedTargets({ labels }: Metadata): ReadonlySet<string> {
  const targets = new Set<string>();
  const one = assignedCluster(labels);
  if (one !== undefined) targets.add(one);
  for (const [target, state] of statesOf(labels)) if (state === stateSync) targets.add(target);
  return targets;
}

/** Assigned, held by a finalizer, or copied up from there. */
export function concernedTargets(metadata: Metadata): ReadonlySet<string> {
  const targets = new Set(assignedTargets(metadata));
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

/** Whether the object should be in the target: `leave` also when it is asked to leave, and nobody holds it any more. */
export function wishFor(metadata: Metadata, target: string): "stay" | "leave" {
  const isLeaving =
    metadata.deletionTimestamp !== undefined ||
    stringMember(metadata.annotations, deletionAnnotation(target)) !== undefined;
  const isAssigned = assignedTargets(metadata).has(target);
  if (isAssigned && !isLeaving) return "stay";
  // Soft finalizers hold what is there, assigned or not, until their owners are done with it.
  const soft = stringMember(metadata.annotations, softFinalizersAnnotation(target)) ?? "";
  return soft.split(",").some((holder) => holder.trim() !== "") ? "stay" : "leave";
}
