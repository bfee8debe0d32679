/**
 * How a cluster replaces the Pods of a kind when their template changes; part of a strategy. Kinds
 * without a rollout get every edit at once.
 *
 * A kind's rollout reads and writes specs of per-cluster objects, and knows no other clusters:
 * `rollout-turns.ts` decides how many Pods each cluster may replace at a time.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { Workload } from "../workload.ts";

/** Rolling update limits, in Pods. */
export interface RollingUpdateLimits {
  /** Pods that may be unavailable during their replacement. */
  readonly unavailable: number;
  /** Additional Pods during the replacement. */
  readonly surge: number;
}

/**
 * The rollout mode that the workload's author sets:
 *
 * - rolling update limits, for all clusters together
 * - Recreate: all Pods stop before new ones start
 * - OnDelete: the cluster replaces no Pod by itself
 * - ClusterByCluster: the replacement within a cluster is unknown, so one cluster follows the other
 */
export type RolloutMode = RollingUpdateLimits | "Recreate" | "OnDelete" | "ClusterByCluster";

export interface KindRollout {
  /** All fields whose change replaces Pods. */
  template(spec: JsonObject): JsonValue;
  withTemplate(spec: JsonObject, template: JsonValue): JsonObject;
  /** Whether the change from `current` to `wanted` replaces Pods. */
  isOutdated(wanted: JsonObject, current: JsonObject): boolean;
  /** All of `wanted` except the fields whose change replaces Pods. */
  withCurrentTemplate(wanted: JsonObject, current: JsonObject): JsonObject;
  /** The mode that the workload's spec sets, for a total number of Pods. */
  modeOf(spec: JsonObject, total: number): RolloutMode;
  /** The limits to use when the author's limits are both 0, because nothing could be replaced. */
  readonly minimumLimits: RollingUpdateLimits;
  /** The spec with these rolling update limits. */
  withLimits(spec: JsonObject, pace: RollingUpdateLimits): JsonObject;
  /** The spec with the rolling update limits of `current`. */
  withLimitsOf(spec: JsonObject, current: JsonObject): JsonObject;
  limitsOf(copy: Workload): RollingUpdateLimits;
  /** The desired Pods of a copy with this spec. */
  pods(copy: Pick<Workload, "status">, spec: JsonObject): number;
  available(copy: Workload): number;
  /** Pods of the newest template that the cluster has observed. */
  updated(copy: Workload): number;
  /** No Pod of an older template is left to replace; by a report about the newest spec. */
  isComplete(copy: Workload): boolean;
  /** Copies are updated one after the other, the highest rank first. */
  rank?(copy: Workload): number;
}
