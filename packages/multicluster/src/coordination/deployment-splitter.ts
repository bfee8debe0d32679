/**
 * The Deployment splitter: one for all logical clusters. It watches Deployments and SyncTargets, and does what `decide.ts` says.
 *
 * Nothing is decided from a cache. Watches, of metadata only, tell where to look; the Deployment and its parts are read when they are looked at.
 * So a cache that is empty or behind can cause a needless look, never a deletion.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  type EventRecorder,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  type ObjectStore,
  type ReconcileResult,
  EventRecorder as Recorder,
  type ResourceClient,
  singleCluster,
} from "@kcp-ts/sdk";
import { ownedByLabel, type SyncTarget, sharedTargetName, syncTargets } from "../api/index.ts";
import { type Decision, decide } from "./decide.ts";
import { asDeployment, type Deployment, deployments } from "./deployment.ts";
import { keepHistory, readHistory } from "./keep-history.ts";
import { belongsTo, isWhole, ownerLabelOf, ownerLabelValue, partName } from "./part.ts";
import { type Patience, type Target, targetOf } from "./standing.ts";
import { metadataAndTargets } from "./watched-clusters.ts";

export interface DeploymentSplitterOptions extends Partial<Patience> {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Those who use the clusters of another logical cluster: their Deployments are split over its SyncTargets, and no others. */
  readonly tenants?: Tenants | undefined;
  readonly clock?: Clock;
  /** Deployments at a time. */
  readonly concurrency?: number;
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface Tenants {
  /** The logical cluster that the SyncTargets are in. */
  readonly home: ClusterName;
  /** Of their logical clusters, not of one of them. */
  readonly client: Client;
}

export interface DeploymentSplitter {
  /** Works until the signal aborts, and resolves when what was under way is finished. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** As long as Kubernetes waits for a node, and a little more: a cluster is harder to lose. */
export const graceMsDefault = 60_000;
export const settleMsDefault = 10_000;
const concurrencyDefault = 4;
/** A clock that is a little behind another's must not make this a busy loop. */
const wakeMsMin = 100;

export function deploymentSplitter(options: DeploymentSplitterOptions): DeploymentSplitter {
  const { client, clock = systemClock, onError, concurrency = concurrencyDefault } = options;
  const scope = splitScope(options, clock);
  const { clusters, transform } = scope;
  const indexers = { wholes: { ...wholes, acrossClusters: options.tenants !== undefined } };
  const seen = clusters.source(deployments, { indexers }).store;
  const targets = clusters.source<SyncTarget, Target>(syncTargets, { transform }).store;
  const targetsFor = (cluster: ClusterName) => targets.list(scope.targetsIn(cluster));
  const events = new Recorder({
    component: "deployment-splitter",
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError,
  });
  const { graceMs = graceMsDefault, settleMs = settleMsDefault } = options;
  const patience = { graceMs, settleMs };
  const work = {
    client: scope.client,
    anywhere: client,
    clock,
    seen,
    targetsFor,
    events,
    patience,
  };
  const controller = new Controller({
    name: "deployment-splitter",
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, { signal }) => splitDeployment(key, work, signal),
  })
    .watch(deployments, { indexers, map: wholeOf })
    .watch<SyncTarget, Target>(syncTargets, {
      transform,
      predicate: (change) => change.type !== "updated" || !same(change.object, change.previous),
      map: (_target, { cluster }) => seen.keysByIndex("wholes", scope.wholesFor(cluster)),
    });
  return {
    async run(signal) {
      await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
      await events.flush();
    },
  };
}

const wholes = { values: (object: KubernetesObject) => (isWhole(object) ? [""] : []) };

/** Whose Deployments are split over which SyncTargets. */
interface SplitScope {
  readonly clusters: Clusters;
  /** By which wholes and parts are read and written. */
  readonly client: Client;
  readonly transform: (target: SyncTarget) => Target;
  /** Undefined for all there are. */
  readonly targetsIn: (cluster: ClusterName) => { readonly cluster: ClusterName } | undefined;
  readonly wholesFor: (home: ClusterName) => { cluster?: ClusterName; value: string };
}

function splitScope(options: DeploymentSplitterOptions, clock: Clock): SplitScope {
  const { client, tenants, onError } = options;
  if (tenants === undefined)
    return {
      clusters: metadataAndTargets({ client, clock, onError }),
      client,
      transform: targetOf,
      targetsIn: (cluster) => ({ cluster }),
      wholesFor: (cluster) => ({ cluster, value: "" }),
    };
  const { home: cluster } = tenants;
  const home = singleCluster({ client: client.inCluster(cluster), cluster, clock, onError });
  return {
    clusters: metadataAndTargets({ client: tenants.client, targets: home, clock, onError }),
    client: tenants.client,
    transform: (target) => {
      const name = sharedTargetName({ name: target.metadata.name, cluster });
      return { ...targetOf(target), name };
    },
    targetsIn: () => undefined,
    wholesFor: () => ({ value: "" }),
  };
}

/** A whole is looked at itself; for a part, the whole that it belongs to or once belonged to. */
function wholeOf({ metadata }: KubernetesObject, key: ObjectKey): readonly ObjectKey[] {
  if (isWhole({ metadata })) return [key];
  const owner = metadata.ownerReferences?.find(
    ({ kind, controller }) => kind === deployments.kind && controller === true,
  );
  const name = owner?.name ?? ownerLabelOf(metadata.labels);
  return name === undefined ? [] : [{ ...key, name }];
}

interface Work {
  readonly client: Client;
  /** Where the history is: what a tenant's cluster serves of it, it serves to itself. */
  readonly anywhere: Client;
  readonly clock: Clock;
  readonly seen: ObjectStore<KubernetesObject>;
  readonly targetsFor: (cluster: ClusterName) => readonly Target[];
  readonly events: EventRecorder;
  readonly patience: Patience;
}

async function splitDeployment(
  key: ObjectKey,
  work: Work,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { namespace, name, cluster } = key;
  const client = work.client.inCluster(cluster);
  const records = work.anywhere.inCluster(cluster);
  const resource = client.resource(deployments);
  const found = await findWhole(resource, key, signal);
  const parent = found === undefined ? undefined : asDeployment(found);
  // What is being deleted takes its parts along by itself.
  if (parent === undefined || !isWhole(parent)) return;
  if (parent.metadata.deletionTimestamp !== undefined) return;
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const [{ items }, history] = await Promise.all([
    resource.list({ namespace, labelSelector, signal }),
    readHistory(records, key, signal),
  ]);
  const parts = items.filter((one) => asDeployment(one) !== undefined && belongsTo(one, parent));
  const targets = work.targetsFor(cluster);
  const nowMs = work.clock.now();
  const decision = decide({
    parent,
    parts,
    takenNames: takenNames(key, targets, parts, work.seen),
    targets,
    patience: work.patience,
    nowMs,
  });
  for (const happening of decision.happenings) work.events.record(cluster, parent, happening);
  await writeParts(resource, parent, decision, signal);
  const kept = await keepHistory(records, parent, history, signal);
  for (const happening of kept.happenings) work.events.record(cluster, parent, happening);
  // What is said comes last: who has waited for a rollout finds it in the history.
  if (decision.status !== parent.status)
    await writeStatus(resource, { ...kept.parent, status: decision.status }, signal);
  if (decision.wakeAtMs === undefined) return;
  return { requeueAfterMs: Math.max(wakeMsMin, decision.wakeAtMs - nowMs) };
}

/** A tenant that is bound no more may not be looked at: its Deployments went first, and what it has by that name now is its own. */
async function findWhole(
  resource: ResourceClient<Deployment>,
  { namespace, name }: ObjectKey,
  signal: AbortSignal,
): Promise<Deployment | undefined> {
  try {
    return await resource.find({ namespace, name }, { signal });
  } catch (error) {
    if (isStatusError(error, "Forbidden")) return undefined;
    throw error;
  }
}

/** More first, less afterwards. */
async function writeParts(
  resource: ResourceClient<Deployment>,
  parent: Deployment,
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

async function writeStatus(
  resource: ResourceClient<Deployment>,
  parent: Deployment,
  signal: AbortSignal,
): Promise<void> {
  try {
    await resource.updateStatus(parent, { signal });
  } catch (error) {
    // Gone meanwhile; or a type of that name without a status, which is nobody's to split.
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

function takenNames(
  { cluster, namespace, name }: ObjectKey,
  targets: readonly Target[],
  parts: readonly Deployment[],
  seen: ObjectStore<KubernetesObject>,
): ReadonlySet<string> {
  const own = new Set(parts.map(({ metadata }) => metadata.name));
  const taken = new Set<string>();
  for (const target of targets) {
    const wanted = partName(name, target.name);
    if (!own.has(wanted) && seen.has({ cluster, namespace, name: wanted })) taken.add(wanted);
  }
  return taken;
}

function same(a: Target, b: Target): boolean {
  return jsonEqual(a as unknown as JsonValue, b as unknown as JsonValue);
}
