/** The placement record after a decision. Pure. */
import { type ConditionInput, timestamp } from "@kcp-ts/sdk";
import {
  type ClusterPlacement,
  placementHistoryMax,
  placementMessageMax,
  workloadPlacementConditions,
} from "../api/index.ts";
import {
  formatResourceAmounts,
  type InFlightByCluster,
  type ResourceAmounts,
  reservationOf,
} from "../scheduling/index.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { DecideInput, EvaluatedCluster } from "./decide.ts";
import { assignmentReasons } from "./decided-assignment.ts";
import {
  type Assignment,
  clusterRecordsOf,
  type PlacementRecord,
  RecordedTemplates,
  recordedMove,
  recordedRollout,
  requestedOrdinals,
  requestedReplicas,
  rolloutRecordOf,
  unlessRepeated,
  withDecision,
} from "./placement-record.ts";
import type { RolloutRecord } from "./rollout/rollout-record.ts";
import { unschedulableReason } from "./rule-records.ts";
import { type ScheduledResult, withTransitionTimes } from "./status-aggregation.ts";
import type { MoveState } from "./stepper/move-machine.ts";
import type { MoveRecord } from "./stepper/move-record.ts";
import type { OrdinalRange } from "./stepper/ordinal-ranges.ts";
import type { Plan } from "./stepper/plan.ts";
import type { WorkloadCondition } from "./workload.ts";

export interface NextRecordInput {
  readonly input: DecideInput;
  readonly clusters: readonly EvaluatedCluster[];
  readonly plan: Plan;
  /** The step in each cluster; a cluster that the step leaves alone is omitted. */
  readonly steps: ReadonlyMap<string, ClusterStep>;
  /** The clusters whose per-cluster objects the step writes. */
  readonly written: ReadonlySet<string>;
  readonly scheduled: ScheduledResult;
  /** The decided assignment; undefined when the last one stays. */
  readonly assignment: Assignment | undefined;
  readonly inFlight?: InFlightByCluster;
  readonly completions?: PlacementRecord["completions"];
  /** The resource requests of each replica. */
  readonly requests: ResourceAmounts;
}

export interface ClusterStep {
  /** The replicas after the step. */
  readonly replicas: number;
  /** Replicas before the step, where these are not those of one per-cluster object. */
  readonly current?: number;
  readonly available?: number;
  readonly move?: MoveRecord | undefined;
  readonly rollout?: RolloutRecord | undefined;
  readonly unreachableSince?: string | undefined;
  /** The cluster that has the volumes, as long as this cluster is the migration destination. */
  readonly migrationSource?: string | undefined;
}

export function nextPlacementRecord(next: NextRecordInput): PlacementRecord {
  const { assignment, plan } = next;
  const { record, strategy, parent, nowMs } = next.input;
  const replicas = strategy.desiredReplicas(parent);
  const before = clusterRecordsOf(record);
  const templates = new RecordedTemplates();
  const isOrdinal = strategy.capabilities.unit === "Ordinal";
  const ordinals = isOrdinal ? (plan.requestedOrdinals ?? stillRequested(next.input)) : undefined;
  const clusters = next.clusters.flatMap((one) => {
    const wanted = ordinals?.get(one.name);
    return (
      nextCluster(next, one, { before: before.get(one.name), ordinals: wanted }, templates) ?? []
    );
  });
  const ready = clusters.reduce((sum, one) => sum + (one.ready ?? 0), 0);
  const assigned = clusters.filter(({ desired = 0 }) => desired > 0);
  const kept = templates.all ?? [];
  const { completions = record?.completions } = next;
  const { generation = 0 } = parent.metadata;
  const observed = assignment === undefined ? record?.observedGeneration : generation;
  return {
    ...(observed === undefined ? {} : { observedGeneration: observed }),
    replicas: { desired: replicas, scheduled: Math.max(0, replicas - plan.unscheduled), ready },
    assignment: shortened(assigned.map(({ name, desired }) => `${name}=${desired}`).join(",")),
    clusters,
    ...(kept.length === 0 ? {} : { templates: kept }),
    ...(completions === undefined ? {} : { completions }),
    history: historyOf(next, replicas),
    conditions: withTransitionTimes(
      (record?.conditions ?? []) as readonly WorkloadCondition[],
      conditionsOf(next, clusters, replicas),
      nowMs,
    ),
  };
}

/**
 * While nothing new can be requested: the previous requests, without clusters that are Unregistered
 * since. Claims do not move to such clusters.
 */
function stillRequested({ record, targets }: DecideInput): ReadonlyMap<string, OrdinalRange> {
  const registered = new Set(targets.map(({ name }) => name));
  return new Map([...requestedOrdinals(record)].filter(([cluster]) => registered.has(cluster)));
}

function nextCluster(
  next: NextRecordInput,
  evaluated: EvaluatedCluster,
  {
    before,
    ordinals,
  }: { readonly before: ClusterPlacement | undefined; readonly ordinals: OrdinalRange | undefined },
  templates: RecordedTemplates,
): ClusterPlacement | undefined {
  const { assignment, requests, input } = next;
  const requested = input.strategy.desiredReplicas(input.parent);
  const { name, share, evaluation } = evaluated;
  const step = next.steps.get(name);
  const current = step?.current ?? share.copy?.replicas ?? 0;
  const applied = step?.replicas ?? current;
  const of = (shares: Assignment["retained"]) => shares?.[name] ?? 0;
  const [desired, retained, incoming] =
    assignment === undefined
      ? [before?.desired ?? 0, before?.retained ?? 0, before?.incoming ?? 0]
      : [of(assignment.assigned), of(assignment.retained), of(assignment.inFlight)];
  const inFlight = next.inFlight?.get(name);
  const isThere = evaluated.object !== undefined;
  if (!isThere && applied + desired === 0 && inFlight === undefined && ordinals === undefined)
    return undefined;
  const isWritten = next.written.has(name);
  const refusal = isWritten ? before?.refusal : undefined;
  // A cluster that the step leaves alone keeps what is known of the steps before.
  const isLeftAlone = step === undefined && isThere;
  const stepMove = isLeftAlone ? before?.move : recordedMove(step?.move);
  const move = refusal === undefined ? stepMove : unlessRepeated(stepMove, before);
  const rollout = isLeftAlone ? rolloutRecordOf(input.record, before) : step?.rollout;
  const unreachableSince = isLeftAlone ? before?.unreachableSince : step?.unreachableSince;
  const migrationSource = isLeftAlone ? before?.migrationSource : step?.migrationSource;
  const requestedBefore = requestedReplicas(before, current);
  const isPending = isThere && !isLeftAlone && current !== applied && requestedBefore > requested;
  return {
    name,
    state: evaluation.state,
    desired,
    applied,
    ready: step?.available ?? share.copy?.available ?? 0,
    phase:
      refusal === undefined ? phaseOf(evaluated, applied, desired, next.plan.states) : "Refused",
    ...reservationIn(requests, { current, applied, isThere, isRefused: refusal !== undefined }),
    ...whyOf(evaluated, desired, refusal),
    ...(retained > 0 ? { retained } : {}),
    ...(incoming > 0 ? { incoming } : {}),
    ...(ordinals === undefined ? {} : { ordinals }),
    ...(refusal === undefined ? {} : { refusal }),
    requested: isLeftAlone ? requestedBefore : requested,
    ...(isPending ? { requestedBefore } : {}),
    ...(unreachableSince === undefined ? {} : { unreachableSince }),
    ...(migrationSource === undefined ? {} : { migrationSource }),
    ...(inFlight === undefined
      ? {}
      : { inFlight: { ...inFlight, reserved: formatResourceAmounts(inFlight.reserved) } }),
    ...(move === undefined ? {} : { move }),
    ...(rollout === undefined ? {} : { rollout: recordedRollout(rollout, templates) }),
  } as ClusterPlacement;
}

/**
 * Removed replicas keep their reservation until the per-cluster object is without them. What the
 * server refuses holds nothing.
 */
function reservationIn(
  requests: ResourceAmounts,
  held: {
    readonly current: number;
    readonly applied: number;
    readonly isThere: boolean;
    readonly isRefused: boolean;
  },
): Pick<ClusterPlacement, "reserved"> {
  const { current, applied, isThere, isRefused } = held;
  if (!isThere && (isRefused || applied === 0)) return {};
  const replicas = isRefused ? current : Math.max(current, applied);
  const reserved = formatResourceAmounts(reservationOf(requests, replicas));
  return Object.keys(reserved).length === 0 ? {} : { reserved };
}

const phases: Readonly<Record<MoveState, NonNullable<ClusterPlacement["phase"]>>> = {
  absent: "Removing",
  pending: "Pending",
  starting: "Starting",
  ready: "Stable",
  waiting: "Replacing",
  disruptionBlocked: "Blocked",
  draining: "Removing",
  blocked: "Blocked",
  rolledBack: "RolledBack",
  frozen: "Unreachable",
};

function phaseOf(
  { name, share: { state, copy } }: EvaluatedCluster,
  applied: number,
  desired: number,
  states: Plan["states"],
): ClusterPlacement["phase"] {
  const planned = states.get(name);
  if (planned !== undefined) return phases[planned];
  if (state === "Unreachable") return "Unreachable";
  if (applied > desired) return applied === 0 ? "Removing" : "Replacing";
  if (applied < desired) return "Pending";
  return (copy?.available ?? 0) < applied ? "Starting" : "Stable";
}

const stateReasons: Readonly<Record<ClusterState, string>> = {
  Ready: "Scheduled",
  Recovering: "ClusterRecovering",
  Cordoned: "ClusterUnschedulable",
  NotReady: "ClusterNotReady",
  Draining: "ClusterDraining",
  Unreachable: "ClusterUnreachable",
  Unregistered: "ClusterUnregistered",
};

function whyOf(
  evaluated: EvaluatedCluster,
  desired: number,
  refusal: ClusterPlacement["refusal"],
): Pick<ClusterPlacement, "reason" | "message"> {
  if (refusal !== undefined) return { reason: refusal.reason, message: refusal.message };
  const { state } = evaluated.evaluation;
  const isOpen = state === "Ready";
  const message = isOpen && desired > 0 ? undefined : unschedulableReason(evaluated);
  return {
    reason: isOpen && desired === 0 ? "NoReplicasAssigned" : stateReasons[state],
    ...(message === undefined ? {} : { message: shortened(message) }),
  };
}

function conditionsOf(
  { scheduled, plan, written }: NextRecordInput,
  clusters: readonly ClusterPlacement[],
  replicas: number,
): readonly ConditionInput[] {
  const isMoving = plan.surplus + plan.deferred > 0;
  const { isScheduled, reason, message } = scheduled;
  const refused = clusters.filter((one) => one.refusal !== undefined);
  const ready = clusters.reduce((sum, one) => sum + (one.ready ?? 0), 0);
  const { scheduled: type, applied, moving, available } = workloadPlacementConditions;
  const said = (is: boolean, [yes, no]: readonly [string, string]) =>
    is ? ({ status: "True", reason: yes } as const) : ({ status: "False", reason: no } as const);
  const appliedAs =
    refused.length === 0
      ? written.size === 0
        ? { status: "True" as const, reason: "Applied", message: "" }
        : { status: "Unknown" as const, reason: "Applying", message: "" }
      : {
          status: "False" as const,
          reason: refused[0]?.refusal?.reason ?? "",
          message: shortened(refused.map((one) => `${one.name}: ${one.message}`).join("; ")),
        };
  return [
    { type, ...said(isScheduled, [reason, reason]), message: shortened(message) },
    { type: applied, ...appliedAs },
    { type: moving, ...said(isMoving, ["Moving", "NotMoving"]), message: "" },
    {
      type: available,
      ...said(ready >= replicas, ["ReplicasAvailable", "ReplicasUnavailable"]),
      message: `${ready}/${replicas} replicas are available`,
    },
  ];
}

function historyOf(
  { input: { record, nowMs }, assignment, clusters, plan }: NextRecordInput,
  replicas: number,
): NonNullable<PlacementRecord["history"]> {
  const history = record?.history ?? [];
  if (assignment === undefined) return history;
  const { assigned, retained = {}, inFlight = {} } = assignment;
  const decided = {
    time: timestamp(nowMs),
    replicas,
    assigned,
    ...(isSome(retained) ? { retained } : {}),
    ...(isSome(inFlight) ? { inFlight } : {}),
    reasons: assignmentReasons(clusters, plan)
      .slice(0, reasonsMax)
      .map((one) => one.slice(0, reasonCharactersMax)),
  };
  return withDecision(history, decided, placementHistoryMax);
}

const reasonsMax = 8;
const reasonCharactersMax = 200;

function isSome(shares: object): boolean {
  return Object.keys(shares).length > 0;
}

function shortened(text: string): string {
  return text.length <= placementMessageMax ? text : `${text.slice(0, placementMessageMax - 1)}…`;
}
