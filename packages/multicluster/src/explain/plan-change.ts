/** What would move if something were another way: the fleet as it is and the fleet as it would be, decided alike, and compared. */
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
} from "./fleet.ts";

export interface PlacementPlan {
  readonly moves: readonly PlannedMove[];
  /** Replicas that would be started somewhere else. */
  readonly replicas: number;
  /** Workloads that stay as they are. */
  readonly staying: number;
}

export interface PlannedMove {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly from: Readonly<Record<string, number>>;
  readonly to: Readonly<Record<string, number>>;
  /** What would have no place that has one now. */
  readonly unplaced: number;
  /** Why, if something has none. */
  readonly because: readonly string[];
  /** Claims that would not go: it would stay where they are, and nothing of it be stopped. */
  readonly refused: readonly RefusedClaim[];
  /** Of a workspace that uses these clusters: nothing but its name is told. */
  readonly isOfOthers?: true;
}

/** A change of a fleet, as somebody would make it. */
export type SnapshotChange = (fleet: WorkspaceSnapshot) => WorkspaceSnapshot;

export function planChange(
  fleet: WorkspaceSnapshot,
  change: SnapshotChange,
  moment: EvaluationTime,
): PlacementPlan {
  return runSync(planChangeInSteps(fleet, change, moment));
}

/** The same in pieces, a decision each. */
export function* planChangeInSteps(
  fleet: WorkspaceSnapshot,
  change: SnapshotChange,
  moment: EvaluationTime,
): Resumable<PlacementPlan> {
  const before = new Map<string, Outcome>();
  for (const [workload, { plan }] of decideEach(fleet, moment)) {
    before.set(idOf(workload), { shares: sharesOf(plan.goal), unplaced: plan.unplaced });
    yield;
  }
  const moves: PlannedMove[] = [];
  let staying = 0;
  const changed = withPlacementStatus(change(fleet), moment.nowMs);
  for (const [workload, decision] of decideEach(changed, moment)) {
    const move = moveOf(changed, workload, before.get(idOf(workload)) ?? noChange, decision);
    if (move === undefined) staying++;
    else moves.push(move);
    yield;
  }
  const going = moves.filter(({ refused }) => refused.length === 0);
  return { moves, replicas: going.reduce((sum, move) => sum + started(move), 0), staying };
}

interface Outcome {
  readonly shares: Readonly<Record<string, number>>;
  readonly unplaced: number;
}

/** Of a workload that is new. */
const noChange: Outcome = { shares: {}, unplaced: 0 };

export function withTarget(name: string, edit: (target: SyncTarget) => SyncTarget): SnapshotChange {
  return (fleet) => {
    const found = fleet.targets.some(({ metadata }) => metadata.name === name);
    if (!found) {
      const names = fleet.targets.map(({ metadata }) => metadata.name).sort();
      throw new Error(`there is no SyncTarget ${name}: there are ${names.join(", ") || "none"}`);
    }
    const targets = fleet.targets.map((one) => (one.metadata.name === name ? edit(one) : one));
    return { ...fleet, targets };
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

/** A cluster that is Ready and serves what the others do. */
export function withJoinedTarget(target: SyncTarget, nowMs: number): SnapshotChange {
  return (fleet) => {
    const resources = new Set(fleet.targets.flatMap(({ status }) => status?.syncedResources ?? []));
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
    const others = fleet.targets.filter(({ metadata }) => metadata.name !== target.metadata.name);
    return { ...fleet, targets: [...others, { ...target, status }] };
  };
}

function moveOf(
  { cluster, targets, storage }: WorkspaceSnapshot,
  { strategy, whole, parts }: SnapshotWorkload,
  before: Outcome,
  after: Decision,
): PlannedMove | undefined {
  const [from, to] = [before.shares, sharesOf(finalAssignment(strategy, whole, after))];
  const unplaced = Math.max(0, after.plan.unplaced - before.unplaced);
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  const isSame = [...names].every((name) => from[name] === to[name]);
  if (isSame && unplaced === 0) return undefined;
  const { namespace = "", name } = whole.metadata;
  const because =
    unplaced === 0
      ? []
      : after.places.map(unschedulableReason).filter((text) => text !== undefined);
  const { kind } = strategy.wholes;
  const user = { kind, whole, parts, from, to } as PlannedUser;
  const options = storage && { cluster, targets, storage };
  const refused = options === undefined ? [] : predictVolumeRefusals(options, user);
  return { kind, namespace, name, from, to, unplaced, because, refused };
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

function idOf({ strategy, whole: { metadata } }: SnapshotWorkload): string {
  return `${strategy.name} ${metadata.namespace}/${metadata.name}`;
}
