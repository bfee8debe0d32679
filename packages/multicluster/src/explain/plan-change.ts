/**
 * The effect of a hypothetical change: the states at rest of the current and of the changed
 * workspace snapshot, compared.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { SyncTarget } from "../api/index.ts";
import type { RefusedClaim } from "../volumes/index.ts";
import { type ConvergedWorkload, converge } from "./converge.ts";
import { shortageOf } from "./rule-records.ts";
import {
  type EvaluationTime,
  type SnapshotWorkload,
  type WorkspaceSnapshot,
  withPlacementStatus,
} from "./workspace-snapshot.ts";

export interface PlacementPlan {
  /** Workloads that would move, or would have to and cannot. */
  readonly moves: readonly PlannedMove[];
  /** Replicas that would start in another cluster. */
  readonly replicas: number;
  /** Workloads that do not change. */
  readonly unchanged: number;
}

export interface PlannedMove {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly from: Readonly<Record<string, number>>;
  /** The replicas at rest after the change; those of an unreachable cluster are omitted. */
  readonly to: Readonly<Record<string, number>>;
  /** Replicas that would become unscheduled. */
  readonly unscheduled: number;
  /** The reasons, if replicas would be unscheduled, as the condition Scheduled reports them. */
  readonly reasons: readonly string[];
  /** Claims that would reject the move: what uses them would stay with them. */
  readonly rejectedBy: readonly RefusedClaim[];
  /** The workload belongs to a tenant of these clusters: only its name is reported. */
  readonly ofOtherTenant?: true;
}

/** A hypothetical change of a snapshot. */
export type SnapshotChange = (workspaceSnapshot: WorkspaceSnapshot) => WorkspaceSnapshot;

export function planChange(
  workspaceSnapshot: WorkspaceSnapshot,
  change: SnapshotChange,
  evaluationTime: EvaluationTime,
): PlacementPlan {
  return runSync(planChangeInSteps(workspaceSnapshot, change, evaluationTime));
}

/** The same in resumable steps, one decision each. */
export function* planChangeInSteps(
  workspaceSnapshot: WorkspaceSnapshot,
  change: SnapshotChange,
  evaluationTime: EvaluationTime,
): Resumable<PlacementPlan> {
  const before = new Map<string, ConvergedWorkload>();
  for (const converged of yield* converge(workspaceSnapshot, evaluationTime))
    before.set(idOf(converged.workload), converged);
  const changed = withPlacementStatus(change(workspaceSnapshot), evaluationTime.nowMs);
  const after = yield* converge(changed, evaluationTime);
  const moves = after.flatMap((converged) =>
    moveOf(before.get(idOf(converged.workload)), converged),
  );
  return {
    moves,
    replicas: moves.reduce((sum, move) => sum + started(move), 0),
    unchanged: after.length - moves.length,
  };
}

export function withTarget(name: string, edit: (target: SyncTarget) => SyncTarget): SnapshotChange {
  return (snapshot) => {
    const found = snapshot.targets.some(({ metadata }) => metadata.name === name);
    if (!found) {
      const names = snapshot.targets.map(({ metadata }) => metadata.name).sort();
      throw new Error(`there is no SyncTarget ${name}: there are ${names.join(", ") || "none"}`);
    }
    const targets = snapshot.targets.map((one) => (one.metadata.name === name ? edit(one) : one));
    return { ...snapshot, targets };
  };
}

export function withDrainedTarget(name: string): SnapshotChange {
  return withTarget(name, (target) => ({
    ...target,
    spec: { ...target.spec, unschedulable: true, drain: {} },
  }));
}

/** The cluster has been unreachable for longer than every toleration. */
export function withLostTarget(name: string): SnapshotChange {
  const lost = {
    type: "Ready",
    status: "False",
    reason: "ClusterUnreachable",
    message: "",
    lastTransitionTime: new Date(0).toISOString(),
  } as const;
  return withTarget(name, (target) => ({
    ...target,
    status: { ...target.status, conditions: [lost, { ...lost, type: "HeartbeatHealthy" }] },
  }));
}

export function withCordonedTarget(name: string, isCordoned: boolean): SnapshotChange {
  return withTarget(name, (target) => {
    const { drain: _, ...spec } = target.spec ?? {};
    return { ...target, spec: { ...spec, unschedulable: isCordoned } };
  });
}

/** Adds a cluster that is Ready and serves the resources of the others. */
export function withJoinedTarget(target: SyncTarget, nowMs: number): SnapshotChange {
  return (snapshot) => {
    const resources = new Set(
      snapshot.targets.flatMap(({ status }) => status?.syncedResources ?? []),
    );
    const ready = {
      type: "Ready",
      status: "True",
      reason: "ClusterReady",
      message: "",
      lastTransitionTime: new Date(nowMs).toISOString(),
    } as const;
    const status = {
      ...(resources.size === 0 ? {} : { syncedResources: [...resources].sort() }),
      ...target.status,
      conditions: [ready],
    };
    const others = snapshot.targets.filter(
      ({ metadata }) => metadata.name !== target.metadata.name,
    );
    return { ...snapshot, targets: [...others, { ...target, status }] };
  };
}

function moveOf(
  before: ConvergedWorkload | undefined,
  { workload: { strategy, workload }, decision, ...after }: ConvergedWorkload,
): readonly PlannedMove[] {
  const from = sharesOf(before?.shares ?? new Map());
  const to = sharesOf(after.shares);
  const unscheduled = Math.max(
    0,
    decision.plan.unscheduled - (before?.decision.plan.unscheduled ?? 0),
  );
  const known = new Set(before?.rejectedBy.map(({ claim }) => claim));
  const rejectedBy = after.rejectedBy.filter(({ claim }) => !known.has(claim));
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  const isSame = [...names].every((name) => from[name] === to[name]);
  const isStuck = after.leftBehind.some((cluster) => before?.leftBehind.includes(cluster) !== true);
  if (isSame && unscheduled === 0 && rejectedBy.length === 0 && !isStuck) return [];
  const { namespace = "", name } = workload.metadata;
  const reasons = unscheduled === 0 ? [] : [shortageOf(decision)];
  const { kind } = strategy.workloads;
  return [{ kind, namespace, name, from, to, unscheduled, reasons, rejectedBy }];
}

function sharesOf(goal: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  const shares = [...goal].filter(([, share]) => share > 0);
  return Object.fromEntries(shares.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function started({ from, to }: PlannedMove): number {
  return Object.entries(to).reduce(
    (sum, [name, share]) => sum + Math.max(0, share - (from[name] ?? 0)),
    0,
  );
}

function idOf({ strategy, workload: { metadata } }: SnapshotWorkload): string {
  return `${strategy.name} ${metadata.namespace}/${metadata.name}`;
}
