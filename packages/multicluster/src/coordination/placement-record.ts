/**
 * The record of a workload's placement, which is the status of its WorkloadPlacement: the last
 * decision, and what a decision has to know of the steps before it. Decisions take the record as
 * input and return the next record; the coordinator writes that before per-cluster objects.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { timestamp } from "@kcp-ts/sdk";
import {
  type ClusterPlacement,
  type PlacementDecisionRecord,
  placementTemplatesMax,
  type WorkloadPlacementStatus,
} from "../api/index.ts";
import { type InFlightByCluster, parseResourceAmounts } from "../scheduling/index.ts";
import { type RolloutRecord, templateHash } from "./rollout/rollout-record.ts";
import type { MoveRecord } from "./stepper/move-record.ts";
import type { OrdinalRange } from "./stepper/ordinal-ranges.ts";

export type PlacementRecord = WorkloadPlacementStatus;
export type { ClusterPlacement } from "../api/index.ts";

/** Replicas by cluster; clusters without replicas are omitted. */
export type Shares = Readonly<Record<string, number>>;

/** The replicas of a decision, by cluster. */
export interface Assignment {
  readonly assigned: Shares;
  /** Replicas that are to leave the cluster and have no feasible cluster. */
  readonly retained?: Shares | undefined;
  /** Ordinals that have left another cluster, and whose destination is not decided yet. */
  readonly inFlight?: Shares | undefined;
}

export function clusterRecordsOf(
  record: PlacementRecord | undefined,
): ReadonlyMap<string, ClusterPlacement> {
  return new Map((record?.clusters ?? []).map((one) => [one.name, one]));
}

/** The last decision; undefined before the first. */
export function lastAssignment(record: PlacementRecord | undefined): Assignment | undefined {
  if (record?.observedGeneration === undefined) return undefined;
  const assigned: Record<string, number> = {};
  const retained: Record<string, number> = {};
  const inFlight: Record<string, number> = {};
  for (const { name, desired = 0, retained: kept = 0, incoming = 0 } of record.clusters ?? []) {
    if (desired > 0) assigned[name] = desired;
    if (kept > 0) retained[name] = kept;
    if (incoming > 0) inFlight[name] = incoming;
  }
  return { assigned, retained, inFlight };
}

/** The replicas of an assignment in the selected clusters; in all clusters if `isIn` is omitted. */
export function assignedReplicasIn(
  { assigned, retained = {}, inFlight = {} }: Assignment,
  isIn: (cluster: string) => boolean = () => true,
): number {
  let sum = 0;
  for (const shares of [assigned, retained, inFlight])
    for (const [cluster, share] of Object.entries(shares)) if (isIn(cluster)) sum += share;
  return sum;
}

/** The replicas in flight that the record has, by destination. */
export function recordedInFlight(record: PlacementRecord | undefined): InFlightByCluster {
  const all = new Map();
  for (const { name, inFlight } of record?.clusters ?? [])
    if (inFlight !== undefined) {
      const reserved = parseResourceAmounts(inFlight.reserved);
      all.set(name, { replicas: inFlight.replicas, reserved });
    }
  return all;
}

/** The requested ordinals of a StatefulSet, by cluster. */
export function requestedOrdinals(
  record: PlacementRecord | undefined,
): ReadonlyMap<string, OrdinalRange> {
  const found = new Map<string, OrdinalRange>();
  for (const { name, ordinals } of record?.clusters ?? [])
    if (ordinals !== undefined) found.set(name, ordinals);
  return found;
}

/**
 * The workload's replicas when the replicas of the cluster were set. A step whose write did not
 * happen has not set them.
 */
export function requestedReplicas(cluster: ClusterPlacement | undefined, current: number): number {
  const { applied, requested = 0, requestedBefore = requested } = cluster ?? {};
  return current === applied ? requested : requestedBefore;
}

export function moveRecordOf(cluster: ClusterPlacement | undefined): MoveRecord | undefined {
  if (cluster?.move === undefined) return undefined;
  const { from, since, rolledBack = false, request, failedIn } = cluster.move;
  const record = { from, sinceMs: Date.parse(since), isRolledBack: rolledBack, request };
  return failedIn === undefined ? record : { ...record, failedIn };
}

export function recordedMove(move: MoveRecord | undefined): ClusterPlacement["move"] {
  if (move === undefined) return undefined;
  const { from, sinceMs, isRolledBack, request, failedIn } = move;
  return {
    from,
    since: timestamp(sinceMs),
    ...(isRolledBack ? { rolledBack: true } : {}),
    request,
    ...(failedIn === undefined ? {} : { failedIn }),
  };
}

export function rolloutRecordOf(
  record: PlacementRecord | undefined,
  cluster: ClusterPlacement | undefined,
): RolloutRecord | undefined {
  if (cluster?.rollout === undefined) return undefined;
  const { request, rolling, since, progress, from: hash, rolledBack } = cluster.rollout;
  const from = record?.templates?.find((one) => one.hash === hash)?.template;
  return {
    request,
    isRolling: rolling === true,
    sinceMs: Date.parse(since),
    progress,
    from,
    isRolledBack: rolledBack === true,
  };
}

/** Collects the templates of rollout records, each of them once. */
export class RecordedTemplates {
  readonly #templates = new Map<string, JsonValue>();

  /** The hash of the template; undefined when the record has no place for it. */
  add(template: JsonValue): string | undefined {
    const hash = templateHash(template);
    if (this.#templates.size >= placementTemplatesMax && !this.#templates.has(hash))
      return undefined;
    this.#templates.set(hash, template);
    return hash;
  }

  get all(): PlacementRecord["templates"] {
    return [...this.#templates].map(([hash, template]) => ({ hash, template }));
  }
}

export function recordedRollout(
  rollout: RolloutRecord | undefined,
  templates: RecordedTemplates,
): ClusterPlacement["rollout"] {
  if (rollout === undefined) return undefined;
  const { request, isRolling, sinceMs, progress, from, isRolledBack } = rollout;
  const hash = from === undefined ? undefined : templates.add(from);
  return {
    request,
    ...(isRolling ? { rolling: true } : {}),
    since: timestamp(sinceMs),
    ...(progress === undefined ? {} : { progress }),
    ...(hash === undefined ? {} : { from: hash }),
    ...(isRolledBack === true ? { rolledBack: true } : {}),
  };
}

/** The history with one more decision, unless the newest one is the same. */
export function withDecision(
  history: readonly PlacementDecisionRecord[],
  decided: PlacementDecisionRecord,
  max: number,
): readonly PlacementDecisionRecord[] {
  const [newest] = history;
  const summary = ({ replicas, assigned, retained = {}, inFlight = {} }: PlacementDecisionRecord) =>
    ({ replicas, assigned, retained, inFlight }) as JsonValue;
  if (newest !== undefined && jsonEqual(summary(newest), summary(decided))) return history;
  return [decided, ...history].slice(0, max);
}

export function isSameRecord(one: PlacementRecord | undefined, other: PlacementRecord): boolean {
  return one !== undefined && jsonEqual(one as JsonValue, other as JsonValue);
}

/**
 * Whether two records decide the same: they differ at most in what clusters report, and in the
 * messages about it.
 */
export function isSameDecision(one: PlacementRecord | undefined, other: PlacementRecord): boolean {
  return one !== undefined && jsonEqual(decisionIn(one), decisionIn(other));
}

function decisionIn(record: PlacementRecord): JsonValue {
  const { clusters = [], templates = [], completions = {} } = record;
  const decided = clusters.map(
    ({ state: _, ready: __, phase: ___, reason: ____, message: _____, ...rest }) => rest,
  );
  return { clusters: decided, templates, completions } as JsonValue;
}
