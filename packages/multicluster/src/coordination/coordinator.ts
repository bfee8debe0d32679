/**
 * The coordinator of one kind, for all logical clusters. It watches the kind and SyncTargets, and
 * carries out the decisions of the kind's strategy.
 *
 * The coordinator decides nothing from a cache. Watches of metadata only requeue workloads; the
 * reconcile reads the workload and its per-cluster objects from the server. So an empty or stale
 * cache can cause a needless reconcile, never a deletion.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  type EventRecorder,
  isBeingDeleted,
  type KubernetesObject,
  Manager,
  type ObjectInput,
  type ObjectKey,
  type ObjectStore,
  type ReconcileResult,
  EventRecorder as Recorder,
  type Resource,
  type ResourceClient,
} from "@kcp-ts/sdk";
import { ownedByLabel, type SyncTarget, syncTargets } from "../api/index.ts";
import type { Scheduler } from "../scheduling/index.ts";
import {
  clusterCopyName,
  isCopyOf,
  isUnassigned,
  ownerLabelOf,
  ownerLabelValue,
} from "./cluster-copy.ts";
import { type ClusterInfo, clusterInfoOf, type GracePeriods } from "./cluster-state.ts";
import { type Decision, isStopBeforeStart } from "./decide.ts";
import { deployments } from "./deployment.ts";
import { FencedClusters, type FencingScope } from "./fencing.ts";
import { decideWithOverrides } from "./overrides.ts";
import { placementHistoryAnnotation } from "./placement-history.ts";
import { Reservations } from "./reservations.ts";
import { readRevisions, writeRevisionHistory } from "./revision-writer.ts";
import { StatusWriteGuard } from "./status-write-guard.ts";
import type { Strategy } from "./strategy.ts";
import { metadataAndTargets } from "./watched-clusters.ts";
import type { Workload } from "./workload.ts";

export interface CoordinatorOptions {
  readonly strategy: Strategy;
  /** Client of the server, not of one logical cluster. It must be allowed everything. */
  readonly client: Client;
  /** The watch of SyncTargets that all coordinators share; the caller runs it. */
  readonly targets: Clusters;
  /**
   * Compute workspaces whose clusters a tenant may use, as far as `targets` contains these
   * clusters; none if omitted.
   */
  readonly computeWorkspacesOf?: ((tenant: ClusterName) => Iterable<ClusterName>) | undefined;
  /**
   * The scheduler that all coordinators share (policy and capacity); without it, every cluster
   * accepts every workload.
   */
  readonly scheduler?: Scheduler | undefined;
  readonly gracePeriods: GracePeriods;
  readonly clock: Clock;
  /** Workloads that are reconciled concurrently. */
  readonly concurrency: number;
  /** Receives errors that the coordinator retries. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

/**
 * Lower bound of requeue delays: a clock that is slightly behind another clock must not cause a
 * busy loop.
 */
const wakeMsMin = 100;

/** Runs until the signal aborts, and resolves when the reconciles in flight have finished. */
export async function coordinate(options: CoordinatorOptions, signal: AbortSignal): Promise<void> {
  const { strategy, client, clock, onError, concurrency, gracePeriods } = options;
  const { workloads, copies, relatedObjects } = strategy;
  const clusters = metadataAndTargets(options);
  const wholeSource = clusters.source(workloads, { indexers });
  const observed = wholeSource.store;
  const copyInformer =
    copies === workloads ? observed : clusters.source(copies, { indexers }).store;
  const targets = clusters.source<SyncTarget, ClusterInfo>(syncTargets, {
    transform: clusterInfoOf,
  }).store;
  const name = `coordinator-${strategy.name}`;
  const events = new Recorder({
    component: workloads.resource === "deployments" ? "deployment-splitter" : name,
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError,
  });
  const reservations = options.scheduler && new Reservations(options.scheduler, strategy);
  const fencedIn = (cluster: ClusterName) => ({
    client: (home: ClusterName) => client.inCluster(home),
    cluster,
    computeWorkspaces: options.computeWorkspacesOf?.(cluster),
  });
  const fenced = new FencedClusters(clock);
  const seeing = { strategy, client, clock, copyInformer, targets, fenced, fencedIn };
  const work = {
    ...seeing,
    events,
    gracePeriods,
    reservations,
    statusWriteGuard: new StatusWriteGuard(),
  };
  const wholesIn = (key: Pick<ObjectKey, "cluster">) =>
    observed.keysByIndex("wholes", { cluster: key.cluster, value: "" });
  const controller = new Controller({
    name,
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, { signal: stop }) => coordinateOne(key, work, stop),
  })
    .watch(workloads, { indexers, map: (object, key) => workloadKeyOf(object, key, workloads) })
    .watch<SyncTarget, ClusterInfo>(syncTargets, {
      transform: clusterInfoOf,
      predicate: (change) => change.type !== "updated" || !same(change.object, change.previous),
      map: (_target, key) => wholesIn(key),
    });
  if (copies !== workloads) {
    controller.watch(copies, { indexers, map: (copy, key) => ownersOf(copy, key, workloads) });
  }
  for (const related of relatedObjects?.kinds ?? []) {
    controller.watch(related, {
      indexers,
      map: (_object, key) => wholesIn(key).filter(({ namespace }) => namespace === key.namespace),
    });
  }
  strategy.onChange?.((cluster) => {
    for (const key of wholesIn({ cluster: cluster as ObjectKey["cluster"] }))
      controller.enqueue(key);
  });
  const partSource = clusters.source(copies, { indexers });
  reservations?.follow(partSource, wholeSource, (key) => controller.enqueue(key));
  await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
  await events.flush();
}

const unassignedOnly = (object: KubernetesObject) => (isUnassigned(object) ? [""] : []);
const indexers = {
  wholes: { values: unassignedOnly },
  "all-wholes": { values: unassignedOnly, acrossClusters: true },
};

/**
 * The workload that a change requeues: the changed object itself, or the workload that a
 * per-cluster object belongs to or once belonged to.
 */
function workloadKeyOf(
  object: KubernetesObject,
  key: ObjectKey,
  workloads: Resource<Workload>,
): readonly ObjectKey[] {
  return isUnassigned(object) ? [key] : ownersOf(object, key, workloads);
}

function ownersOf(
  { metadata }: KubernetesObject,
  key: ObjectKey,
  workloads: Resource<Workload>,
): readonly ObjectKey[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const name = owner === undefined ? ownerLabelOf(metadata.labels) : owner.name;
  if (name === undefined || (owner !== undefined && owner.kind !== workloads.kind)) return [];
  return [{ ...key, name }];
}

interface CoordinatorWork {
  readonly strategy: Strategy;
  readonly client: Client;
  readonly clock: Clock;
  readonly copyInformer: ObjectStore<KubernetesObject>;
  readonly targets: ObjectStore<ClusterInfo>;
  readonly fenced: FencedClusters;
  readonly fencedIn: (cluster: ClusterName) => FencingScope;
  readonly events: EventRecorder;
  readonly gracePeriods: GracePeriods;
  readonly reservations: Reservations | undefined;
  readonly statusWriteGuard: StatusWriteGuard;
}

async function coordinateOne(
  key: ObjectKey,
  work: CoordinatorWork,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { namespace, name, cluster } = key;
  const { inCluster } = work.strategy;
  const strategy = inCluster === undefined ? work.strategy : inCluster(cluster);
  if (strategy === undefined) {
    work.reservations?.release(key);
    return;
  }
  const client = work.client.inCluster(cluster);
  const found = await client.resource(strategy.workloads).find({ namespace, name }, { signal });
  const parent = found === undefined ? undefined : strategy.accept(found);
  // The garbage collector deletes the per-cluster objects of a workload that is being deleted.
  if (parent === undefined || !isUnassigned(parent) || isBeingDeleted(parent)) {
    work.reservations?.release(key);
    work.statusWriteGuard.forget(key);
    return;
  }
  const resource = client.resource(strategy.copies);
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const [items, history, related] = await Promise.all([
    listServed(resource, { namespace, labelSelector, signal }),
    strategy.revisions && readRevisions(client, key, strategy.revisions, signal),
    strategy.relatedObjects?.read(client, parent, signal),
  ]);
  // The server serves the kind of the per-cluster objects only after the first cluster has imported
  // it.
  if (items === undefined) return { requeueAfterMs: unservedMs };
  const copies = items.flatMap((one) => {
    const copy = isCopyOf(one, parent) ? strategy.acceptCopy(one) : undefined;
    return copy === undefined ? [] : [copy];
  });
  await work.reservations?.ready(key);
  const known = work.targets.list({ cluster });
  const targets = isStopBeforeStart(parent, work.reservations?.snapshot(key, parent).policy)
    ? await work.fenced.read(work.fencedIn(cluster), known, signal)
    : known;
  // No await between this snapshot and the reservation of the decision: concurrent reconciles see
  // the reservation of this workload, or this reconcile sees theirs.
  const scheduling = work.reservations?.snapshot(key, parent);
  const nowMs = work.clock.now();
  const decision = decideWithOverrides({
    strategy,
    parent,
    copies,
    ...(related === undefined ? {} : { related }),
    takenNames: takenNames(key, targets, copies, work.copyInformer),
    targets,
    gracePeriods: work.gracePeriods,
    nowMs,
    scheduling,
  });
  work.reservations?.reserve(key, parent, decision);
  await applyDecision({ key, work, strategy, parent, decision, history }, signal);
  const { requeueAtMs, isExpired } = decision;
  if (requeueAtMs === undefined || isAnnotating(decision) || isExpired === true) return;
  return { requeueAfterMs: Math.max(wakeMsMin, requeueAtMs - nowMs) };
}

function isAnnotating({ annotations, removedAnnotations }: Decision): boolean {
  return annotations !== undefined || removedAnnotations !== undefined;
}

interface DecidedWorkload {
  readonly key: ObjectKey;
  readonly work: CoordinatorWork;
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly decision: Decision;
  readonly history: Awaited<ReturnType<typeof readRevisions>> | undefined;
}

async function applyDecision(decided: DecidedWorkload, signal: AbortSignal): Promise<void> {
  const { key, work, strategy, parent, decision, history } = decided;
  const { cluster } = key;
  const client = work.client.inCluster(cluster);
  const workload = client.resource(strategy.workloads);
  if (decision.isExpired === true) return deleteExpired(workload, parent, signal);
  if (isAnnotating(decision)) {
    // The reconcile that this write triggers does the work that depends on the annotations.
    const obsolete = Object.fromEntries(
      (decision.removedAnnotations ?? []).map((name) => [name, null]),
    );
    await annotate(workload, parent, { ...decision.annotations, ...obsolete }, signal);
    return;
  }
  const onWritten = (name: string) => {
    const event = decision.scalingEvents?.get(name);
    if (event !== undefined) work.events.record(cluster, parent, event);
  };
  await writeCopies(client.resource(strategy.copies), { decision, onWritten }, signal);
  for (const event of decision.events) work.events.record(cluster, parent, event);
  if (decision.scale !== undefined) await writeScale(client, parent, decision.scale, signal);
  const { placementHistory: record } = decision;
  const recorded =
    record === undefined
      ? parent
      : await annotate(workload, parent, { [placementHistoryAnnotation]: record }, signal);
  const kept = strategy.revisions
    ? await writeRevisionHistory(client, recorded, history, strategy.revisions, signal)
    : { parent: recorded, events: [] };
  for (const event of kept.events) work.events.record(cluster, parent, event);
  // The status is written last: a client that waits for a rollout then finds it in the history.
  if (!work.statusWriteGuard.isRedundant(key, decision.status, parent.status)) {
    const said = { ...kept.parent, status: decision.status };
    const written = await writeStatus(workload, said, signal);
    work.statusWriteGuard.recordWrite(key, decision.status, written?.status);
  }
}

const unservedMs = 2000;

/** Lists a resource; undefined when the server does not serve the kind. */
async function listServed(
  resource: ResourceClient<Workload>,
  options: Parameters<ResourceClient<Workload>["list"]>[0],
): Promise<readonly Workload[] | undefined> {
  try {
    return (await resource.list(options)).items;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}

interface CopyWrites {
  readonly decision: Decision;
  /** With the name of a copy whose write has succeeded. */
  readonly onWritten: (name: string) => void;
}

/** Writes creations and scale-ups first, scale-downs and removals last. */
async function writeCopies(
  resource: ResourceClient<Workload>,
  { decision, onWritten }: CopyWrites,
  signal: AbortSignal,
): Promise<void> {
  const { creations, updates, scaleDowns, removals } = decision;
  const create = async (copy: ObjectInput<Workload>) => {
    await resource.create(copy, { signal });
    onWritten(copy.metadata.name ?? "");
  };
  const update = async (copy: Workload) => {
    await resource.update(copy, { signal });
    onWritten(copy.metadata.name);
  };
  const remove = async (copy: Workload) => {
    await resource.sameVersion(copy).remove({ signal });
    onWritten(copy.metadata.name);
  };
  await Promise.all([...creations.map(create), ...updates.map(update)]);
  await Promise.all([...scaleDowns.map(update), ...removals.map(remove)]);
}

async function annotate(
  resource: ResourceClient<Workload>,
  workload: Workload,
  annotations: Readonly<Record<string, string | null>>,
  signal: AbortSignal,
): Promise<Workload> {
  return await resource.sameVersion(workload).mergePatch({ metadata: { annotations } }, { signal });
}

/**
 * Sets the scale of the workload's target, as the HorizontalPodAutoscaler controller does in a
 * cluster.
 */
async function writeScale(
  client: Client,
  { metadata: { namespace } }: Workload,
  { name, uid, replicas }: NonNullable<Decision["scale"]>,
  signal: AbortSignal,
): Promise<void> {
  const options = { fieldManager: autoscalerFieldManager, signal };
  await client
    .resource(deployments)
    .sameObject({ metadata: { namespace, name, uid } })
    .mergePatch({ spec: { replicas } }, options);
}

const autoscalerFieldManager = "kcp-autoscaler";

async function deleteExpired(
  resource: ResourceClient<Workload>,
  workload: Workload,
  signal: AbortSignal,
): Promise<void> {
  await resource.sameObject(workload).remove({ propagationPolicy: "Background", signal });
}

async function writeStatus(
  resource: ResourceClient<Workload>,
  parent: Workload,
  signal: AbortSignal,
): Promise<Workload | undefined> {
  try {
    return await resource.updateStatus(parent, { signal });
  } catch (error) {
    // The object was deleted meanwhile, or a custom resource of that name has no status subresource
    // and is not scheduled.
    if (!isStatusError(error, "NotFound")) throw error;
    return undefined;
  }
}

function takenNames(
  { cluster, namespace, name }: ObjectKey,
  targets: readonly ClusterInfo[],
  copies: readonly Workload[],
  observed: ObjectStore<KubernetesObject>,
): ReadonlySet<string> {
  const own = new Set(copies.map(({ metadata }) => metadata.name));
  const taken = new Set<string>();
  for (const target of targets) {
    const wanted = clusterCopyName(name, target.name);
    if (!own.has(wanted) && observed.has({ cluster, namespace, name: wanted })) taken.add(wanted);
  }
  return taken;
}

function same(a: ClusterInfo, b: ClusterInfo): boolean {
  return jsonEqual(a as unknown as JsonValue, b as unknown as JsonValue);
}
