/**
 * Workloads that their authors assign to clusters by labels. They are not divided; the coordinator
 * of their kind reserves their resources, as for every workload, and opens their limit gate. A
 * workload that does not fit waits for capacity, and an Event says why.
 */
import { type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import { isPatchError } from "@kcp-ts/machinery/patch";
import {
  type Client,
  type EventRecorder,
  formatKey,
  type KubernetesObject,
  type ObjectKey,
  type ObjectSource,
} from "@kcp-ts/sdk";
import {
  assignedTargets,
  diffHash,
  isUpsynced,
  type LimitGate,
  limitGateAnnotation,
  limitGateOf,
  specDiffOf,
  withSpecDiff,
} from "../api/index.ts";
import {
  filterAndScore,
  formatResourceAmounts,
  parseResourceAmounts,
  type ReplicaLimit,
  type ReservationCache,
  type ResourceAmounts,
  reservationOf,
  type SchedulingSubject,
} from "../scheduling/index.ts";
import { ownerLabelOf } from "./cluster-copy.ts";
import type { ClusterInfo } from "./cluster-state.ts";
import { schedulableOf } from "./decide.ts";
import type { Reservations } from "./reservations.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

/** Whether the author of the workload has assigned it to a cluster. */
export function isPinned({ metadata: { labels } }: Pick<KubernetesObject, "metadata">): boolean {
  return (
    ownerLabelOf(labels) === undefined && !isUpsynced(labels) && assignedTargets(labels).size > 0
  );
}

/** Observes what pinned workloads reserve, by their limit gates. */
export function observePinned(
  reservations: ReservationCache,
  source: ObjectSource<KubernetesObject>,
  subjectOf: (key: ObjectKey, workload: KubernetesObject) => SchedulingSubject,
): void {
  const idOf = (subject: SchedulingSubject, key: ObjectKey, target: string) =>
    `${subject.resource} ${formatKey(key)} ${target}`;
  const observe = (object: KubernetesObject, key: ObjectKey) => {
    const subject = subjectOf(key, object);
    for (const [target, { reserved }] of gatesOf(object)) {
      const amounts = parseResourceAmounts(reserved);
      const id = idOf(subject, key, target);
      if (amounts.size > 0) reservations.observe({ ...subject, key: id, target, amounts });
      else reservations.forgetCopy(id);
    }
  };
  const forget = (object: KubernetesObject, key: ObjectKey) => {
    const subject = subjectOf(key, object);
    for (const [target] of gatesOf(object)) reservations.forgetCopy(idOf(subject, key, target));
  };
  source.addHandler({
    added: (object, { key }) => observe(object, key),
    updated: (object, { key, previous }) => {
      const isMoved = targetsOf(object) !== targetsOf(previous);
      if (isMoved) forget(previous, key);
      observe(object, key);
    },
    deleted: (object, { key }) => forget(object, key),
  });
}

function targetsOf(object: KubernetesObject): string {
  return [...gatesOf(object)].map(([target]) => target).join();
}

function* gatesOf(object: KubernetesObject): Generator<readonly [string, LimitGate]> {
  if (!isPinned(object)) return;
  const { labels, annotations } = object.metadata;
  for (const target of assignedTargets(labels))
    yield [target, limitGateOf(annotations, target) ?? {}];
}

export interface PinnedWork {
  readonly strategy: Strategy;
  readonly client: Client;
  readonly targets: readonly ClusterInfo[];
  readonly reservations: Reservations | undefined;
  readonly events: EventRecorder;
}

/**
 * Reserves the resources of a pinned workload and opens its gates, or says why they stay closed.
 */
export async function coordinatePinned(
  key: ObjectKey,
  workload: Workload,
  work: PinnedWork,
  signal: AbortSignal,
): Promise<void> {
  const { metadata } = workload;
  const patched = await runSyncFirst(patchedFor(workload, work));
  // No await between the snapshot of reservations and the reservation: see `coordinateOne`.
  const gates = decideGates(key, workload, patched, work);
  const changed = [...gates].filter(([target, gate]) => {
    const before = limitGateOf(metadata.annotations, target);
    return before === undefined || !isSameGate(before, gate);
  });
  if (changed.length === 0) return;
  const annotations = Object.fromEntries(
    changed.map(([target, gate]) => [limitGateAnnotation(target), JSON.stringify(gate)]),
  );
  await work.client
    .inCluster(key.cluster)
    .resource(work.strategy.workloads)
    .sameVersion(workload)
    .mergePatch({ metadata: { annotations } }, { signal });
  for (const [, { message }] of changed)
    if (message !== undefined)
      work.events.record(key.cluster, workload, {
        type: "Warning",
        reason: "FailedScheduling",
        message,
      });
}

interface PatchedWorkload {
  readonly candidate: ClusterInfo;
  /** The workload as the cluster gets it. */
  readonly patched: Workload;
  readonly specDiff: Pick<LimitGate, "specDiff">;
}

/** By cluster; those that have no SyncTarget are left out. */
function* patchedFor(
  workload: Workload,
  { strategy, targets }: PinnedWork,
): Resumable<ReadonlyMap<string, PatchedWorkload>> {
  const { labels, annotations } = workload.metadata;
  const candidates = new Map(targets.map((candidate) => [candidate.name, candidate]));
  const all = new Map<string, PatchedWorkload>();
  for (const target of assignedTargets(labels)) {
    yield;
    const candidate = candidates.get(target);
    if (candidate === undefined) continue;
    const diff = specDiffOf(annotations, target);
    const patched = diff === undefined ? workload : yield* asPatched(workload, diff, strategy);
    const specDiff = diff === undefined ? {} : { specDiff: diffHash(diff) };
    all.set(target, { candidate, patched, specDiff });
  }
  return all;
}

function decideGates(
  key: ObjectKey,
  workload: Workload,
  all: ReadonlyMap<string, PatchedWorkload>,
  { strategy, reservations }: PinnedWork,
): ReadonlyMap<string, LimitGate> {
  const { annotations, generation = 0 } = workload.metadata;
  const gates = new Map<string, LimitGate>();
  const held = new Map<string, ResourceAmounts>();
  const scheduling = reservations?.snapshot(key, workload);
  let isWaiting = false;
  for (const [target, { candidate, patched, specDiff }] of all) {
    const before = limitGateOf(annotations, target) ?? {};
    const replicas = strategy.desiredReplicas(patched);
    const schedulable = schedulableOf(strategy, patched);
    const wanted = reservationOf(schedulable.requests, replicas);
    const result = filterAndScore({
      ...scheduling,
      workload: schedulable,
      candidates: [candidate],
      desiredReplicas: replicas,
      currentReplicas: () => ({ replicas: 0, available: 0 }),
    });
    const limit = tightestOf(
      result.clusters.get(target)?.maxReplicas,
      ...result.quotas.map(({ limitWith }) => limitWith({ replicas: 0, available: 0 })),
    );
    // Resources that are reserved stay so, whatever the sums are, as for every workload.
    const isReserved = isCovered(wanted, parseResourceAmounts(before.reserved));
    if (isReserved || limit === undefined || limit.replicas >= replicas) {
      gates.set(target, { generation, ...specDiff, reserved: formatResourceAmounts(wanted) });
      held.set(target, wanted);
      continue;
    }
    isWaiting = true;
    const { message: _, ...granted } = before;
    const message = `${limit.replicas}/${replicas} replicas fit: ${limit.reason}`;
    // What was reserved before is in the cluster, and stays.
    gates.set(target, { ...granted, message });
    if (granted.reserved !== undefined) held.set(target, parseResourceAmounts(granted.reserved));
  }
  reservations?.reservePinned(key, workload, held, isWaiting);
  return gates;
}

/** The workload as the cluster gets it; an invalid diff keeps it from the cluster. */
function* asPatched(workload: Workload, diff: string, strategy: Strategy): Resumable<Workload> {
  try {
    const patched: Workload = { ...workload, spec: yield* withSpecDiff(workload.spec, diff) };
    return strategy.accept(patched) ?? workload;
  } catch (error) {
    if (isPatchError(error)) return workload;
    throw error;
  }
}

function isCovered(wanted: ResourceAmounts, reserved: ResourceAmounts): boolean {
  if (reserved.size === 0) return false;
  for (const [name, amount] of wanted) if (amount > (reserved.get(name) ?? 0)) return false;
  return true;
}

function tightestOf(...limits: readonly (ReplicaLimit | undefined)[]): ReplicaLimit | undefined {
  let tightest: ReplicaLimit | undefined;
  for (const limit of limits)
    if (limit !== undefined && (tightest === undefined || limit.replicas < tightest.replicas))
      tightest = limit;
  return tightest;
}

function isSameGate(one: LimitGate, other: LimitGate): boolean {
  return (
    one.generation === other.generation &&
    one.message === other.message &&
    one.specDiff === other.specDiff &&
    JSON.stringify(one.reserved) === JSON.stringify(other.reserved)
  );
}
