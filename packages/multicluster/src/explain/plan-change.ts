/**
 * The effect of a hypothetical change: the decisions about the current and about the changed
 * workspace snapshot, compared.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { SyncTarget } from "../api/index.ts";
import { type Decision, finalAssignment, unschedulableReason } from "../coordination/index.ts";
import { type PlannedUser, predictVolumeRefusals, type RefusedClaim } from "../volumes/index.ts";
import {
  decideEach,
  type EvaluationTime,
  type SnapshotWorkload,
  type WorkspaceSnapshot,
  withPlacementStatus,
} from "./workspace-snapshot.ts";

export interface PlacementPlan {
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
  readonly to: Readonly<Record<string, number>>;
  /** Replicas that would become unscheduled. */
  readonly unscheduled: number;
  /** The reasons, if replicas would be unscheduled. */
  readonly reasons: readonly string[];
  /**
   * Claims that would reject the move: the workload would stay with them, and nothing of it would
   * stop.
   */
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
  const before = new Map<string, Outcome>();
  for (const [workload, { plan }] of decideEach(workspaceSnapshot, evaluationTime)) {
    before.set(idOf(workload), { shares: sharesOf(plan.goal), unscheduled: plan.unscheduled });
    yield;
  }
  const moves: PlannedMove[] = [];
  let staying = 0;
  const changed = withPlacementStatus(change(workspaceSnapshot), evaluationTime.nowMs);
  for (const [workload, decision] of decideEach(changed, evaluationTime)) {
    const move = moveOf(changed, workload, before.get(idOf(workload)) ?? noChange, decision);
    if (move === undefined) staying++;
    else moves.push(move);
    yield;
  }
  const going = moves.filter(({ rejectedBy: refused }) => refused.length === 0);
  return {
    moves,
    replicas: going.reduce((sum, move) => sum + started(move), 0),
    unchanged: staying,
  };
}

interface Outcome {
  readonly shares: Readonly<Record<string, number>>;
  readonly unscheduled: number;
}

/** The outcome before the creation of a new workload. */
const noChange: Outcome = { shares: {}, unscheduled: 0 };

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

export function withCordonedTarget(name: string, isCordoned: boolean): SnapshotChange {
  return withTarget(name, (target) => {
    const { drain: _, evictAfter: __, ...spec } = target.spec ?? {};
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
  { cluster, targets, storage }: WorkspaceSnapshot,
  { strategy, workload, copies }: SnapshotWorkload,
  before: Outcome,
  after: Decision,
): PlannedMove | undefined {
  const [from, to] = [before.shares, sharesOf(finalAssignment(strategy, workload, after))];
  const unscheduled = Math.max(0, after.plan.unscheduled - before.unscheduled);
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  const isSame = [...names].every((name) => from[name] === to[name]);
  if (isSame && unscheduled === 0) return undefined;
  const { namespace = "", name } = workload.metadata;
  const reasons =
    unscheduled === 0
      ? []
      : after.clusters.flatMap((cluster) => {
          const reason = unschedulableReason(cluster);
          return reason === undefined ? [] : [`${cluster.name}: ${reason}`];
        });
  const { kind } = strategy.workloads;
  const user = { kind, workload, copies, from, to } as PlannedUser;
  const options = storage && { cluster, targets, storage };
  const refused = options === undefined ? [] : predictVolumeRefusals(options, user);
  return { kind, namespace, name, from, to, unscheduled, reasons, rejectedBy: refused };
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
