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
  type Change,
  type Client,
  type Clusters,
  Controller,
  type EventRecorder,
  formatKey,
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
import {
  assignedCluster,
  firstReportMsMax,
  isReportedWhenStarted,
  ownedByLabel,
  type SyncTarget,
  syncTargets,
} from "../api/index.ts";
import type { Scheduler } from "../scheduling/index.ts";
import type { CacheBarrier } from "./cache-barrier.ts";
import {
  clusterCopyName,
  isCopyOf,
  isUnassigned,
  ownerLabelOf,
  ownerLabelValue,
} from "./cluster-copy.ts";
import { type ClusterInfo, clusterInfoOf, type GracePeriods } from "./cluster-state.ts";
import { writtenClusters } from "./conclude-decision.ts";
import { type DecideInput, type Decision, isStopBeforeStart } from "./decide.ts";
import { deployments } from "./deployment.ts";
import { FencedClusters, type FencingScope } from "./fencing.ts";
import type { MetadataInformers } from "./metadata-informers.ts";
import { decideWithOverrides } from "./overrides.ts";
import { coordinatePinned, isPinned } from "./pinned-workload.ts";
import { type ScaledCluster, scalingEvents } from "./placement-events.ts";
import { isSameDecision } from "./placement-record.ts";
import {
  deleteOrphanedPlacement,
  readPlacement,
  type StoredPlacement,
  storedPlacement,
  writePlacement,
} from "./placement-store.ts";
import {
  type RefusedWrite,
  refusalEvents,
  refusalOf,
  retryDelayMs,
  withRefusals,
} from "./refusals.ts";
import { Reservations } from "./reservations.ts";
import {
  hasRevisionNumber,
  RecordedRevisions,
  type RevisionUpdate,
  readRevisions,
  withRevisionNumber,
  writeRevisionHistory,
  writeRevisionNumber,
} from "./revision-writer.ts";
import { revisionAnnotation } from "./revisions.ts";
import { StatusWriteGuard } from "./status-write-guard.ts";
import type { Strategy } from "./strategy.ts";
import { metadataAndTargets } from "./watched-clusters.ts";
import { specCount, statusCount, type Workload } from "./workload.ts";

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
  /** The metadata watches that coordinators share; watches of its own if omitted. */
  readonly metadata?: MetadataInformers | undefined;
  /** The caches of all kinds; no workload is decided before they are complete. */
  readonly barrier: CacheBarrier;
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
  const reservations = options.scheduler && new Reservations(options.scheduler, strategy, targets);
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
    barrier: options.barrier,
    statusWriteGuard: new StatusWriteGuard(),
    revisions: new RecordedRevisions(),
    ownWrites: new Map<string, string>(),
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
  });
  watchWorkloads(controller, work);
  controller.watch<SyncTarget, ClusterInfo>(syncTargets, {
    transform: clusterInfoOf,
    predicate: (change) => change.type !== "updated" || !same(change.object, change.previous),
    map: (_target, key) => wholesIn(key),
  });
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
  reservations?.follow(observed, (key) => controller.enqueue(key));
  reservations?.followPinned(wholeSource);
  options.barrier.add(clusters.listed());
  await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
  await events.flush();
}

function watchWorkloads(
  controller: Controller,
  { strategy: { workloads, copies }, ownWrites }: CoordinatorWork,
): void {
  const firstDelayMs = isReportedWhenStarted(copies) ? firstReportMsMax : unheldReportMs;
  const reportDelayOf = ({ type }: Change<KubernetesObject>) =>
    reportDelayMs + (type === "added" ? firstDelayMs : 0);
  controller.watch(workloads, {
    indexers,
    // A status that this coordinator has written says nothing new.
    predicate: ({ type, key, object }) =>
      type !== "updated" || ownWrites.get(formatKey(key)) !== object.metadata.resourceVersion,
    delayMs: (change) => (isReport(change) ? reportDelayOf(change) : 0),
    map: (object, key) => workloadKeyOf(object, key, workloads),
  });
  if (copies === workloads) return;
  controller.watch(copies, {
    indexers,
    delayMs: reportDelayOf,
    map: (copy, key) => ownersOf(copy, key, workloads),
  });
}

const isWorkload = (object: KubernetesObject) => isUnassigned(object) || isPinned(object);
const workloadsOnly = (object: KubernetesObject) => (isWorkload(object) ? [""] : []);
const indexers = {
  wholes: { values: workloadsOnly },
  "all-wholes": { values: workloadsOnly, acrossClusters: true },
};

/**
 * Clusters report one after the other, and each write of a reconcile is a change, too: what comes
 * within this time is one reconcile.
 */
const reportDelayMs = 250;
/** Kinds whose first report does not wait for replicas that start. */
const unheldReportMs = 1000;

/**
 * Whether only a per-cluster object changes, or the status of a workload: what users write is
 * reconciled at once.
 */
function isReport(change: Change<KubernetesObject>): boolean {
  if (!isWorkload(change.object)) return true;
  if (change.type !== "updated" || !isWorkload(change.previous)) return false;
  return jsonEqual(writtenByUsers(change.object), writtenByUsers(change.previous));
}

/** Kinds without a generation are compared by their version: everything may be a user's write. */
function writtenByUsers({ metadata }: KubernetesObject): JsonValue {
  const { uid = "", generation, resourceVersion = "", deletionTimestamp = null } = metadata;
  const { labels = {}, annotations = {} } = metadata;
  const { [revisionAnnotation]: _, ...own } = annotations;
  return [uid, generation ?? resourceVersion, deletionTimestamp, labels, own] as JsonValue;
}

/**
 * The workload that a change requeues: the changed object itself, or the workload that a
 * per-cluster object belongs to or once belonged to.
 */
function workloadKeyOf(
  object: KubernetesObject,
  key: ObjectKey,
  workloads: Resource<Workload>,
): readonly ObjectKey[] {
  return isWorkload(object) ? [key] : ownersOf(object, key, workloads);
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
  readonly barrier: CacheBarrier;
  readonly statusWriteGuard: StatusWriteGuard;
  readonly revisions: RecordedRevisions;
  /** The version of each workload that this coordinator wrote last. */
  readonly ownWrites: Map<string, string>;
}

async function coordinateOne(
  key: ObjectKey,
  work: CoordinatorWork,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { namespace, name, cluster } = key;
  // Before anything is read: what is read while caches fill may be outdated when they are complete.
  await work.barrier.complete();
  const { inCluster } = work.strategy;
  const strategy = inCluster === undefined ? work.strategy : inCluster(cluster);
  if (strategy === undefined) {
    work.reservations?.release(key);
    return;
  }
  const client = work.client.inCluster(cluster);
  const found = await client.resource(strategy.workloads).find({ namespace, name }, { signal });
  const parent = found === undefined ? undefined : strategy.accept(found);
  if (parent !== undefined && isPinned(parent) && !isBeingDeleted(parent)) {
    await work.reservations?.ready(key);
    const pinned = { ...work, strategy, targets: work.targets.list({ cluster }) };
    return await coordinatePinned(key, parent, pinned, signal);
  }
  // The garbage collector deletes the per-cluster objects of a workload that is being deleted.
  if (parent === undefined || !isUnassigned(parent) || isBeingDeleted(parent)) {
    const isGone = forget(key, work);
    if (isGone && found === undefined)
      await deleteOrphanedPlacement(client, strategy.workloads, key, signal);
    return;
  }
  const resource = client.resource(strategy.copies);
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const [placement, items, history, related] = await Promise.all([
    readPlacement(client, strategy.workloads, key, signal),
    listServed(resource, { namespace, labelSelector, signal }),
    readHistory(key, strategy, parent, work, signal),
    strategy.relatedObjects?.read(client, parent, signal),
  ]);
  // The server serves the kind of the per-cluster objects only after the first cluster has imported
  // it.
  if (items === undefined) return { requeueAfterMs: unservedMs };
  const own = items.filter((one) => isCopyOf(one, parent));
  const copies = own.flatMap((one) => strategy.acceptCopy(one) ?? []);
  await work.reservations?.ready(key);
  const known = work.targets.list({ cluster });
  const targets = isStopBeforeStart(parent, work.reservations?.snapshot(key, parent).policy)
    ? await work.fenced.read(work.fencedIn(cluster), known, signal)
    : known;
  // No await between this snapshot and the reservation of the decision: concurrent reconciles see
  // the reservation of this workload, or this reconcile sees theirs.
  const scheduling = work.reservations?.snapshot(key, parent);
  const nowMs = work.clock.now();
  const stored = storedPlacement(placement, parent);
  const input: DecideInput = {
    strategy,
    parent,
    copies,
    record: stored.record,
    ...(related === undefined ? {} : { related }),
    takenNames: takenNames(key, targets, copies, work.copyInformer),
    targets,
    gracePeriods: work.gracePeriods,
    nowMs,
    scheduling,
  };
  const decision = decideWithOverrides(input);
  work.reservations?.reserve(key, parent, decision);
  const decided = { key, work, input, stored, decision, history };
  const retryAfterMs = await applyDecision(decided, signal);
  return requeueAfter(Math.min(retryAfterMs, (decision.requeueAtMs ?? Infinity) - nowMs));
}

function requeueAfter(delayMs: number): ReconcileResult {
  if (delayMs === Infinity) return undefined;
  return { requeueAfterMs: Math.max(wakeMsMin, delayMs) };
}

/**
 * The per-cluster objects of a deleted workload hold their capacity until they are deleted: whether
 * none is left.
 */
function forget(key: ObjectKey, work: CoordinatorWork): boolean {
  const known = work.targets.list({ cluster: key.cluster });
  const isGone = takenNames(key, known, [], work.copyInformer).size === 0;
  if (isGone) work.reservations?.release(key);
  work.statusWriteGuard.forget(key);
  work.revisions.forget(key);
  work.ownWrites.delete(formatKey(key));
  return isGone;
}

interface DecidedWorkload {
  readonly key: ObjectKey;
  readonly work: CoordinatorWork;
  readonly input: DecideInput;
  readonly stored: StoredPlacement;
  readonly decision: Decision;
  readonly history: Awaited<ReturnType<typeof readRevisions>> | undefined;
}

/**
 * Carries out a decision, and returns the time after which refused writes are retried. The record
 * is written before per-cluster objects, so that a decision that is interrupted is finished.
 */
async function applyDecision(decided: DecidedWorkload, signal: AbortSignal): Promise<number> {
  const { key, work, input, decision } = decided;
  const { strategy, parent } = input;
  const { cluster } = key;
  const client = work.client.inCluster(cluster);
  const workload = client.resource(strategy.workloads);
  if (decision.isExpired === true) {
    await deleteExpired(workload, parent, signal);
    return Infinity;
  }
  const write = (stored: StoredPlacement, record: Decision["record"]) =>
    writePlacement(client, strategy.workloads, parent, stored, record, signal);
  let { stored } = decided;
  if (!isSameDecision(stored.record, decision.record))
    stored = await write(stored, decision.record);
  const scaled: ScaledCluster[] = [];
  const onWritten = (name: string) => {
    const one = decision.scaled?.get(name);
    if (one !== undefined) scaled.push(one);
  };
  const writes = { decision, onWritten };
  let refused: Awaited<ReturnType<typeof writeCopies>>;
  try {
    refused = await writeCopies(client.resource(strategy.copies), writes, signal);
  } finally {
    for (const event of scalingEvents(scaled, strategy)) work.events.record(cluster, parent, event);
  }
  let { record, status } = decision;
  if (refused.size > 0) {
    record = withRefusals(decision.record, refused, input.nowMs);
    const after = decideWithOverrides({ ...input, record });
    ({ record, status } = after);
    work.reservations?.reserve(key, parent, after);
    for (const event of refusalEvents(input.record, refused))
      work.events.record(cluster, parent, event);
    stored = await write(stored, record);
  }
  for (const event of decision.events)
    if (refused.size === 0 || event.reason !== "RollingOut")
      work.events.record(cluster, parent, event);
  if (decision.scale !== undefined) await writeScale(client, parent, decision.scale, signal);
  const kept = await keepHistory(decided, signal);
  for (const event of kept.events) work.events.record(cluster, parent, event);
  // The reconcile that the writes trigger writes the status, with what clusters report until then.
  if (refused.size === 0 && writtenClusters(decision).size > 0) return Infinity;
  const awaitedMs = firstReportsInMs(input);
  if (refused.size === 0 && awaitedMs > 0) return awaitedMs;
  await write(stored, record);
  // The status is written last: a client that waits for a rollout then finds it in the history.
  // It takes the number of the revision along, as the status of a Deployment in Kubernetes does.
  const isRedundant = work.statusWriteGuard.isRedundant(key, status, parent.status);
  if (!isRedundant || !hasRevisionNumber(parent, kept.number)) {
    const said = { ...withRevisionNumber(parent, kept.number), status };
    const written = await writeStatus(workload, said, signal);
    work.statusWriteGuard.recordWrite(key, status, written?.status);
    work.ownWrites.set(formatKey(key), written?.metadata.resourceVersion ?? "");
    if (written !== undefined) await writeRevisionNumber(client, written, kept.number, signal);
  }
  return refused.size === 0 ? Infinity : retryDelayMs(record, input.nowMs);
}

/** The history of templates; undefined where it is known to be complete, and not kept. */
async function readHistory(
  key: ObjectKey,
  { revisions }: Strategy,
  parent: Workload,
  work: CoordinatorWork,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<typeof readRevisions>>> {
  if (revisions === undefined || work.revisions.of(key, parent) !== undefined) return undefined;
  return await readRevisions(work.client.inCluster(key.cluster), key, revisions, signal);
}

/** Writes the history of templates, where its objects were read. */
async function keepHistory(
  { key, work, input: { strategy, parent }, history }: DecidedWorkload,
  signal: AbortSignal,
): Promise<RevisionUpdate> {
  if (strategy.revisions === undefined) return { events: [] };
  const known = work.revisions.of(key, parent);
  if (known !== undefined) return known;
  const client = work.client.inCluster(key.cluster);
  const kept = await writeRevisionHistory(client, parent, history, strategy.revisions, signal);
  if (history !== undefined && kept.events.length === 0) work.revisions.record(key, parent, kept);
  return kept;
}

/**
 * How long the first status waits for the clusters that have not reported yet: their first reports
 * are one status.
 */
function firstReportsInMs({ strategy, parent, copies, nowMs }: DecideInput): number {
  if (!isReportedWhenStarted(strategy.copies) || statusCount(parent, "observedGeneration") > 0)
    return 0;
  const awaited = copies.filter(
    (copy) => specCount(copy, "replicas", 1) > 0 && statusCount(copy, "observedGeneration") === 0,
  );
  const createdMs = awaited.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ""));
  return Math.max(0, ...createdMs) + firstReportMsMax + reportDelayMs - nowMs;
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

/**
 * Writes creations and scale-ups first, scale-downs and removals last. Returns the refusals, by
 * cluster.
 */
async function writeCopies(
  resource: ResourceClient<Workload>,
  { decision, onWritten }: CopyWrites,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RefusedWrite>> {
  const { creations, updates, scaleDowns, removals } = decision;
  const refused = new Map<string, RefusedWrite>();
  const written = async (copy: ObjectInput<Workload>, write: Promise<unknown>) => {
    try {
      await write;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      refused.set(assignedCluster(copy.metadata.labels) ?? "", refusal);
      return;
    }
    onWritten(copy.metadata.name ?? "");
  };
  const create = (copy: ObjectInput<Workload>) => () =>
    written(copy, resource.create(copy, { signal }));
  const update = (copy: Workload) => () => written(copy, resource.update(copy, { signal }));
  const remove = (copy: Workload) => () =>
    written(copy, resource.sameVersion(copy).remove({ signal }));
  await writeAll([...creations.map(create), ...updates.map(update)], atOnce(creations, updates));
  await writeAll([...scaleDowns.map(update), ...removals.map(remove)], atOnce(scaleDowns));
  return refused;
}

/** The text of the copies that are written at a time: each is encoded when its write begins. */
const copiesTextMax = 4 << 20;

/** The number of copies that are written at a time; all of them unless they are large. */
function atOnce(...copies: readonly (readonly ObjectInput<Workload>[])[]): number {
  const [first] = copies.flat();
  const length = first === undefined ? 0 : JSON.stringify(first.spec ?? {}).length;
  return Math.max(1, Math.floor(copiesTextMax / Math.max(length, 1)));
}

async function writeAll(
  writes: readonly (() => Promise<void>)[],
  atOnceMax: number,
): Promise<void> {
  const rest = writes.values();
  const worker = async () => {
    for (const write of rest) await write();
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, writes.length) }, worker));
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
