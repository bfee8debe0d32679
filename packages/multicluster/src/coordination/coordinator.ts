/**
 * The coordinator of one kind: one for all logical clusters. It watches the kind and SyncTargets, and does what the kind's strategy decides.
 *
 * Nothing is decided from a cache. Watches, of metadata only, tell where to look; the whole and its parts are read when they are looked at.
 * So a cache that is empty or behind can cause a needless look, never a deletion.
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
  type ObjectKey,
  type ObjectStore,
  type ReconcileResult,
  EventRecorder as Recorder,
  type Resource,
  type ResourceClient,
} from "@kcp-ts/sdk";
import { ownedByLabel, type SyncTarget, syncTargets } from "../api/index.ts";
import type { Scheduler } from "../scheduling/index.ts";
import { type Decision, isStopBeforeStart } from "./decide.ts";
import { deployments } from "./deployment.ts";
import { FencedClusters, type FencingScope } from "./fencing.ts";
import { readRevisions, writeRevisionHistory } from "./keep-history.ts";
import { decideWithOverrides } from "./overrides.ts";
import { clusterCopyName, isCopyOf, isUnassigned, ownerLabelOf, ownerLabelValue } from "./part.ts";
import { placementHistoryAnnotation } from "./placement-history.ts";
import { Reservations } from "./reservations.ts";
import { StatusWriteGuard } from "./settled-statuses.ts";
import { type ClusterInfo, clusterInfoOf, type GracePeriods } from "./standing.ts";
import type { Strategy } from "./strategy.ts";
import { metadataAndTargets } from "./watched-clusters.ts";
import type { Workload } from "./workload.ts";

export interface CoordinatorOptions {
  readonly strategy: Strategy;
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Where SyncTargets are watched, for all coordinators; run by the caller. */
  readonly targets: Clusters;
  /** Other logical clusters whose clusters one may use, as far as `targets` has those; none if left out. */
  readonly homesOf?: ((tenant: ClusterName) => Iterable<ClusterName>) | undefined;
  /** Policy and capacity, for all coordinators; without it, every cluster takes everything. */
  readonly scheduler?: Scheduler | undefined;
  readonly patience: GracePeriods;
  readonly clock: Clock;
  /** Wholes at a time. */
  readonly concurrency: number;
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

/** A clock that is a little behind another's must not make this a busy loop. */
const wakeMsMin = 100;

/** Works until the signal aborts, and resolves when what was under way is finished. */
export async function coordinate(options: CoordinatorOptions, signal: AbortSignal): Promise<void> {
  const { strategy, client, clock, onError, concurrency, patience } = options;
  const { wholes, parts, relations } = strategy;
  const clusters = metadataAndTargets(options);
  const wholeSource = clusters.source(wholes, { indexers });
  const seen = wholeSource.store;
  const seenParts = parts === wholes ? seen : clusters.source(parts, { indexers }).store;
  const targets = clusters.source<SyncTarget, ClusterInfo>(syncTargets, {
    transform: clusterInfoOf,
  }).store;
  const name = `coordinator-${strategy.name}`;
  const events = new Recorder({
    component: wholes.resource === "deployments" ? "deployment-splitter" : name,
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError,
  });
  const reservations = options.scheduler && new Reservations(options.scheduler, strategy);
  const fencedIn = (cluster: ClusterName) => ({
    client: (home: ClusterName) => client.inCluster(home),
    cluster,
    homes: options.homesOf?.(cluster),
  });
  const fenced = new FencedClusters(clock);
  const seeing = { strategy, client, clock, seenParts, targets, fenced, fencedIn };
  const work = { ...seeing, events, patience, reservations, settled: new StatusWriteGuard() };
  const wholesIn = (key: Pick<ObjectKey, "cluster">) =>
    seen.keysByIndex("wholes", { cluster: key.cluster, value: "" });
  const controller = new Controller({
    name,
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, { signal: stop }) => coordinateOne(key, work, stop),
  })
    .watch(wholes, { indexers, map: (object, key) => workloadKeyOf(object, key, wholes) })
    .watch<SyncTarget, ClusterInfo>(syncTargets, {
      transform: clusterInfoOf,
      predicate: (change) => change.type !== "updated" || !same(change.object, change.previous),
      map: (_target, key) => wholesIn(key),
    });
  if (parts !== wholes) {
    controller.watch(parts, { indexers, map: (part, key) => ownersOf(part, key, wholes) });
  }
  for (const related of relations?.kinds ?? []) {
    controller.watch(related, {
      indexers,
      map: (_object, key) => wholesIn(key).filter(({ namespace }) => namespace === key.namespace),
    });
  }
  strategy.onChange?.((cluster) => {
    for (const key of wholesIn({ cluster: cluster as ObjectKey["cluster"] }))
      controller.enqueue(key);
  });
  const partSource = clusters.source(parts, { indexers });
  reservations?.follow(partSource, wholeSource, (key) => controller.enqueue(key));
  await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
  await events.flush();
}

const unassignedOnly = (object: KubernetesObject) => (isUnassigned(object) ? [""] : []);
const indexers = {
  wholes: { values: unassignedOnly },
  "all-wholes": { values: unassignedOnly, acrossClusters: true },
};

/** A whole is looked at itself; for a part, the whole that it belongs to or once belonged to. */
function workloadKeyOf(
  object: KubernetesObject,
  key: ObjectKey,
  wholes: Resource<Workload>,
): readonly ObjectKey[] {
  return isUnassigned(object) ? [key] : ownersOf(object, key, wholes);
}

function ownersOf(
  { metadata }: KubernetesObject,
  key: ObjectKey,
  wholes: Resource<Workload>,
): readonly ObjectKey[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const name = owner === undefined ? ownerLabelOf(metadata.labels) : owner.name;
  if (name === undefined || (owner !== undefined && owner.kind !== wholes.kind)) return [];
  return [{ ...key, name }];
}

interface CoordinatorWork {
  readonly strategy: Strategy;
  readonly client: Client;
  readonly clock: Clock;
  readonly seenParts: ObjectStore<KubernetesObject>;
  readonly targets: ObjectStore<ClusterInfo>;
  readonly fenced: FencedClusters;
  readonly fencedIn: (cluster: ClusterName) => FencingScope;
  readonly events: EventRecorder;
  readonly patience: GracePeriods;
  readonly reservations: Reservations | undefined;
  readonly settled: StatusWriteGuard;
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
  const found = await client.resource(strategy.wholes).find({ namespace, name }, { signal });
  const parent = found === undefined ? undefined : strategy.accept(found);
  // What is being deleted takes its parts along by itself.
  if (parent === undefined || !isUnassigned(parent) || isBeingDeleted(parent)) {
    work.reservations?.release(key);
    work.settled.forget(key);
    return;
  }
  const resource = client.resource(strategy.parts);
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const [items, history, related] = await Promise.all([
    listServed(resource, { namespace, labelSelector, signal }),
    strategy.history && readRevisions(client, key, strategy.history, signal),
    strategy.relations?.read(client, parent, signal),
  ]);
  // Parts of another kind are served when the first cluster has brought it.
  if (items === undefined) return { requeueAfterMs: unservedMs };
  const parts = items.flatMap((one) => {
    const part = isCopyOf(one, parent) ? strategy.acceptPart(one) : undefined;
    return part === undefined ? [] : [part];
  });
  await work.reservations?.ready(key);
  const known = work.targets.list({ cluster });
  const targets = isStopBeforeStart(parent, work.reservations?.facts(key, parent).policy)
    ? await work.fenced.read(work.fencedIn(cluster), known, signal)
    : known;
  // From here on until what is decided is held, nothing is waited for: others decide by what this one takes, or this one by what they took.
  const surroundings = work.reservations?.facts(key, parent);
  const nowMs = work.clock.now();
  const decision = decideWithOverrides({
    strategy,
    parent,
    parts,
    ...(related === undefined ? {} : { related }),
    takenNames: takenNames(key, targets, parts, work.seenParts),
    targets,
    patience: work.patience,
    nowMs,
    surroundings,
  });
  work.reservations?.hold(key, parent, decision);
  await applyDecision({ key, work, strategy, parent, decision, history }, signal);
  const { wakeAtMs, isExpired } = decision;
  if (wakeAtMs === undefined || isAnnotating(decision) || isExpired === true) return;
  return { requeueAfterMs: Math.max(wakeMsMin, wakeAtMs - nowMs) };
}

function isAnnotating({ annotations, obsolete }: Decision): boolean {
  return annotations !== undefined || obsolete !== undefined;
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
  const whole = client.resource(strategy.wholes);
  if (decision.isExpired === true) return deleteExpired(whole, parent, signal);
  for (const happening of decision.happenings) work.events.record(cluster, parent, happening);
  if (isAnnotating(decision)) {
    // What depends on it is done by the look that this write leads to.
    const obsolete = Object.fromEntries((decision.obsolete ?? []).map((name) => [name, null]));
    await annotate(whole, parent, { ...decision.annotations, ...obsolete }, signal);
    return;
  }
  await writeCopies(client.resource(strategy.parts), parent, decision, signal);
  if (decision.scale !== undefined) await writeScale(client, parent, decision.scale, signal);
  const { placementHistory: record } = decision;
  const recorded =
    record === undefined
      ? parent
      : await annotate(whole, parent, { [placementHistoryAnnotation]: record }, signal);
  const kept = strategy.history
    ? await writeRevisionHistory(client, recorded, history, strategy.history, signal)
    : { parent: recorded, happenings: [] };
  for (const happening of kept.happenings) work.events.record(cluster, parent, happening);
  // What is said comes last: who has waited for a rollout finds it in the history.
  if (!work.settled.isSettled(key, decision.status, parent.status)) {
    const said = { ...kept.parent, status: decision.status };
    const written = await writeStatus(whole, said, signal);
    work.settled.wrote(key, decision.status, written?.status);
  }
}

const unservedMs = 2000;

/** Undefined when the kind is not served. */
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

/** More first, less afterwards. */
async function writeCopies(
  resource: ResourceClient<Workload>,
  parent: Workload,
  decision: Decision,
  signal: AbortSignal,
): Promise<void> {
  const { creations, updates, cuts, removals } = decision;
  const { namespace } = parent.metadata;
  await Promise.all([
    ...creations.map((part) => resource.create(part, { signal })),
    ...updates.map((part) => resource.update(part, { signal })),
  ]);
  await Promise.all([
    ...cuts.map((part) => resource.update(part, { signal })),
    ...removals.map(({ metadata: { name, uid, resourceVersion } }) => {
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      return resource.delete({ namespace, name }, { preconditions, signal });
    }),
  ]);
}

async function annotate(
  resource: ResourceClient<Workload>,
  { metadata: { namespace, name, resourceVersion = "" } }: Workload,
  annotations: Readonly<Record<string, string | null>>,
  signal: AbortSignal,
): Promise<Workload> {
  const patch = { metadata: { annotations, resourceVersion } };
  return await resource.patch({ namespace, name }, { type: "merge", patch }, { signal });
}

/** As an autoscaler does it in a cluster. */
async function writeScale(
  client: Client,
  { metadata: { namespace } }: Workload,
  { name, replicas }: NonNullable<Decision["scale"]>,
  signal: AbortSignal,
): Promise<void> {
  const patch = { type: "merge" as const, patch: { spec: { replicas } } };
  const options = { fieldManager: autoscalerFieldManager, signal };
  await client.resource(deployments).patch({ namespace, name }, patch, options);
}

const autoscalerFieldManager = "kcp-autoscaler";

async function deleteExpired(
  resource: ResourceClient<Workload>,
  { metadata: { namespace, name, uid } }: Workload,
  signal: AbortSignal,
): Promise<void> {
  const preconditions = uid === undefined ? {} : { uid };
  const options = { preconditions, propagationPolicy: "Background" as const, signal };
  await resource.delete({ namespace, name }, options);
}

async function writeStatus(
  resource: ResourceClient<Workload>,
  parent: Workload,
  signal: AbortSignal,
): Promise<Workload | undefined> {
  try {
    return await resource.updateStatus(parent, { signal });
  } catch (error) {
    // Gone meanwhile; or a type of that name without a status, which is nobody's to split.
    if (!isStatusError(error, "NotFound")) throw error;
    return undefined;
  }
}

function takenNames(
  { cluster, namespace, name }: ObjectKey,
  targets: readonly ClusterInfo[],
  parts: readonly Workload[],
  seen: ObjectStore<KubernetesObject>,
): ReadonlySet<string> {
  const own = new Set(parts.map(({ metadata }) => metadata.name));
  const taken = new Set<string>();
  for (const target of targets) {
    const wanted = clusterCopyName(name, target.name);
    if (!own.has(wanted) && seen.has({ cluster, namespace, name: wanted })) taken.add(wanted);
  }
  return taken;
}

function same(a: ClusterInfo, b: ClusterInfo): boolean {
  return jsonEqual(a as unknown as JsonValue, b as unknown as JsonValue);
}
