/**
 * A per-cluster object as a rollout sees it: its desired spec, its current spec, and the progress
 * of its cluster.
 */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { type ClusterShare, isReportCurrent } from "../stepper/cluster-share.ts";
import type { Workload } from "../workload.ts";
import type { KindRollout, RollingUpdateLimits } from "./kind-rollout.ts";
import { type RolloutRecord, templateHash } from "./rollout-record.ts";

export interface CopyRolloutView {
  readonly name: string;
  readonly object: Workload;
  /** The spec with the newest template and the next replicas. */
  readonly wanted: JsonObject;
  /** The hash of the newest template for this copy. */
  readonly hash: string;
  /** The rollout record, if it is about the newest template. */
  readonly record: RolloutRecord | undefined;
  /** The rollout record, about any template. */
  readonly observed: RolloutRecord | undefined;
  /** The cluster is replacing the copy's Pods, for any template. */
  readonly isRolling: boolean;
  readonly limits: RollingUpdateLimits | undefined;
  /** The cluster has observed the newest spec, and all Pods have its template and are available. */
  readonly isComplete: boolean;
  /** The copy's cluster is Unreachable or Unregistered. */
  readonly isUnreachable: boolean;
  /** The copy's cluster is NotReady, perhaps temporarily. */
  readonly isNotReady: boolean;
  readonly isReported: boolean;
  readonly wasUnreachable: boolean;
  /**
   * Pods of the newest template that the cluster has observed; 0 before it has observed the newest.
   */
  readonly updated: number;
  /** The progress of the rollout in this copy. */
  readonly progress: number;
}

export interface CopyRolloutInput {
  readonly share: ClusterShare;
  readonly object: Workload;
  readonly wanted: JsonObject;
  /** The record of the copy's cluster. */
  readonly observed: RolloutRecord | undefined;
  /** The cluster has rejected the newest spec, and reports so. */
  readonly isRefused: boolean;
}

export function copyRolloutViewOf(
  kindRollout: KindRollout,
  viewed: CopyRolloutInput,
): CopyRolloutView {
  const { share, object, wanted, observed, isRefused } = viewed;
  const { state, name, copy } = share;
  const hash = templateHash(kindRollout.template(wanted));
  const isObserved = copy?.isObserved === true;
  const isReplaced = isObserved && kindRollout.isComplete(object);
  const isAvailable = kindRollout.available(object) >= kindRollout.pods(object, object.spec);
  const isRolling = observed?.isRolling === true;
  const isUnreachable = state === "Unreachable" || state === "Unregistered";
  const seen =
    copy === undefined || !isRefused ? share : { ...share, copy: { ...copy, isObserved: true } };
  return {
    name,
    object,
    wanted,
    hash,
    record: observed?.request === hash ? observed : undefined,
    observed,
    isRolling,
    limits: isRolling && !isReplaced ? kindRollout.limitsOf(object) : undefined,
    isComplete: isReplaced && isAvailable,
    isUnreachable,
    isNotReady: isUnreachable || state === "NotReady",
    isReported: isReportCurrent(seen),
    wasUnreachable: copy?.wasUnreachable === true,
    updated: isObserved ? kindRollout.updated(object) : 0,
    progress:
      kindRollout.updated(object) +
      Math.min(kindRollout.updated(object), kindRollout.available(object)),
  };
}

/** Replicas that the copy may lose by a rolling update of its own, in the unit of its replicas. */
export function rolloutUnavailableOf(
  kindRollout: KindRollout | undefined,
  object: Workload,
  {
    isRolling,
    isObserved,
    isWhole,
  }: { readonly isRolling: boolean; readonly isObserved: boolean; readonly isWhole: boolean },
): number {
  if (kindRollout === undefined || !isRolling) return 0;
  if (isObserved && kindRollout.isComplete(object)) return 0;
  const { unavailable } = kindRollout.limitsOf(object);
  if (!isWhole) return unavailable;
  return unavailable >= kindRollout.pods(object, object.spec) ? 1 : 0;
}

export function isSameTemplate(kindRollout: KindRollout, a: JsonObject, b: JsonObject): boolean {
  return jsonEqual(kindRollout.template(a), kindRollout.template(b));
}
