/**
 * How Pods of a kind are replaced in a cluster when their template changes; part of a strategy. Kinds without such a form get every edit at once.
 *
 * Forms read and write specs of parts, and know nothing of other clusters: how much each may replace at a time is decided in `plan-roll-out.ts`.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { Workload } from "../workload.ts";

/** In Pods. */
export interface RollingUpdateLimits {
  /** So many may be unavailable because they are replaced. */
  readonly unavailable: number;
  /** So many more than asked for meanwhile. */
  readonly surge: number;
}

/**
 * What the author of a whole says:
 * - a pace, for all clusters together
 * - atOnce: all Pods are stopped before new ones are started (Recreate)
 * - byHand: the cluster replaces nothing by itself (OnDelete)
 * - clusterwise: what happens within a cluster is somebody else's business, so one cluster follows the other
 */
export type RolloutMode = RollingUpdateLimits | "atOnce" | "byHand" | "clusterwise";

export interface KindRollout {
  /** All that makes Pods be replaced. */
  template(spec: JsonObject): JsonValue;
  withTemplate(spec: JsonObject, template: JsonValue): JsonObject;
  /** Whether Pods are replaced when `current` becomes `wanted`. */
  isBehind(wanted: JsonObject, current: JsonObject): boolean;
  /** All of `wanted` but what makes Pods be replaced. */
  held(wanted: JsonObject, current: JsonObject): JsonObject;
  /** By the spec of the whole, for so many Pods in all. */
  allowance(spec: JsonObject, total: number): RolloutMode;
  /** Where neither more nor fewer are allowed, nothing could be replaced. */
  readonly least: RollingUpdateLimits;
  /** The cluster replaces no more at a time. */
  paced(spec: JsonObject, pace: RollingUpdateLimits): JsonObject;
  /** At the pace of `current`. */
  asPaced(spec: JsonObject, current: JsonObject): JsonObject;
  paceOf(part: Workload): RollingUpdateLimits;
  /** What a part is to have in its cluster, by that spec. */
  pods(part: Pick<Workload, "status">, spec: JsonObject): number;
  available(part: Workload): number;
  /** How many are of the newest template that the cluster knows. */
  updated(part: Workload): number;
  /** Nothing of an older template is left that is to be replaced; by a report about the newest spec. */
  isReplaced(part: Workload): boolean;
  /** Parts have their turn one after the other, the highest first. */
  rank?(part: Workload): number;
}
