/**
 * The Deployment splitter: one for all logical clusters. It watches Deployments and SyncTargets, and does what `decide.ts` says.
 *
 * Nothing is decided from a cache. Watches, of metadata only, tell where to look; the Deployment and its parts are read when they are looked at.
 * So a cache that is empty or behind can cause a needless look, never a deletion.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  Controller,
  type EventRecorder,
  formatKey,
  isBeingDeleted,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  type ObjectStore,
  type ReconcileResult,
  EventRecorder as Recorder,
  type ResourceClient,
  type StringMap,
} from "@kcp-ts/sdk";
import { ownedByLabel, type SyncTarget, syncTargets } from "../api/index.ts";
import {
  type News,
  reservationOf,
  type Scheduler,
  type Subject,
  workloadOf,
} from "../scheduling/index.ts";
import { type Decision, decide } from "./decide.ts";
import { asDeployment, type Deployment, deployments } from "./deployment.ts";
import { keepHistory, readHistory } from "./keep-history.ts";
import { belongsTo, isWhole, ownerLabelOf, ownerLabelValue, partName } from "./part.ts";
import { placementHistoryAnnotation } from "./placement-history.ts";
import { type Patience, type Target, targetOf } from "./standing.ts";
import { metadataAndTargets } from "./watched-clusters.ts";

export interface DeploymentSplitterOptions extends Partial<Patience> {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Policy and capacity; without it, every cluster takes everything. */
  readonly scheduler?: Scheduler | undefined;
  readonly clock?: Clock;
  /** Deployments at a time. */
  readonly concurrency?: number;
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
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
  const clusters = metadataAndTargets({ client, clock, onError });
  const seen = clusters.source(deployments, { indexers }).store;
  const targets = clusters.source<SyncTarget, Target>(syncTargets, { transform: targetOf }).store;
  const events = new Recorder({
    component: "deployment-splitter",
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError,
  });
  const { graceMs = graceMsDefault, settleMs = settleMsDefault } = options;
  const { scheduler } = options;
  const waiting = new Map<string, ObjectKey>();
  const patience = { graceMs, settleMs };
  const work = { client, clock, seen, targets, events, patience, scheduler, waiting };
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
      transform: targetOf,
      predicate: (change) => change.type !== "updated" || !same(change.object, change.previous),
      map: (_target, { cluster }) => seen.keysByIndex("wholes", { cluster, value: "" }),
    });
  scheduler?.follow(clusters.source(deployments, { indexers }), "deployments.apps");
  scheduler?.subscribe((news) => {
    for (const key of keysOf(news, seen, waiting)) controller.enqueue(key);
  });
  return {
    async run(signal) {
      await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
      await events.flush();
    },
  };
}

const wholeOnly = (object: KubernetesObject) => (isWhole(object) ? [""] : []);
const indexers = {
  wholes: { values: wholeOnly },
  "all-wholes": { values: wholeOnly, acrossClusters: true },
};

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
  readonly clock: Clock;
  readonly seen: ObjectStore<KubernetesObject>;
  readonly targets: ObjectStore<Target>;
  readonly events: EventRecorder;
  readonly patience: Patience;
  readonly scheduler: Scheduler | undefined;
  /** Those with replicas that have no place. */
  readonly waiting: Map<string, ObjectKey>;
}

/** Whom news from the scheduler are about. */
function keysOf(
  news: News,
  seen: ObjectStore<KubernetesObject>,
  waiting: ReadonlyMap<string, ObjectKey>,
): Iterable<ObjectKey> {
  if (news.kind === "room") return waiting.values();
  if (news.cluster === "all") return seen.keysByIndex("all-wholes", { value: "" });
  const keys = seen.keysByIndex("wholes", { cluster: news.cluster, value: "" });
  return news.namespace === undefined
    ? keys
    : keys.filter(({ namespace }) => namespace === news.namespace);
}

async function splitDeployment(
  key: ObjectKey,
  work: Work,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { namespace, name, cluster } = key;
  const client = work.client.inCluster(cluster);
  const resource = client.resource(deployments);
  const found = await resource.find({ namespace, name }, { signal });
  const parent = found === undefined ? undefined : asDeployment(found);
  // What is being deleted takes its parts along by itself.
  if (parent === undefined || !isWhole(parent) || isBeingDeleted(parent)) {
    const { labels = {} } = parent?.metadata ?? {};
    hold({ key, labels }, undefined, work);
    return;
  }
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const [{ items }, history] = await Promise.all([
    resource.list({ namespace, labelSelector, signal }),
    readHistory(client, key, signal),
  ]);
  const parts = items.filter((one) => asDeployment(one) !== undefined && belongsTo(one, parent));
  const targets = work.targets.list({ cluster });
  await work.scheduler?.ready(cluster);
  const { labels = {} } = parent.metadata;
  const nowMs = work.clock.now();
  const decision = decide({
    parent,
    parts,
    takenNames: takenNames(key, targets, parts, work.seen),
    targets,
    patience: work.patience,
    nowMs,
    surroundings: work.scheduler?.factsFor(subjectOf({ key, labels })),
  });
  hold({ key, labels }, { parent, decision }, work);
  for (const happening of decision.happenings) work.events.record(cluster, parent, happening);
  await writeParts(resource, parent, decision, signal);
  const recorded = await recordPlacement(resource, parent, decision, signal);
  const kept = await keepHistory(client, recorded, history, signal);
  for (const happening of kept.happenings) work.events.record(cluster, parent, happening);
  // What is said comes last: who has waited for a rollout finds it in the history.
  if (decision.status !== parent.status)
    await writeStatus(resource, { ...kept.parent, status: decision.status }, signal);
  if (decision.wakeAtMs === undefined) return;
  return { requeueAfterMs: Math.max(wakeMsMin, decision.wakeAtMs - nowMs) };
}

interface Known {
  readonly key: ObjectKey;
  readonly labels: StringMap;
}

function subjectOf({ key: { cluster, namespace, name }, labels }: Known): Subject {
  const owner = ownerLabelValue(name);
  return { cluster, namespace, resource: "deployments.apps", name: owner, labels };
}

/** What is decided is taken from now on, whoever else is looked at meanwhile; what waits for room is remembered. */
function hold(
  known: Known,
  decided: { readonly parent: Deployment; readonly decision: Decision } | undefined,
  { scheduler, waiting }: Work,
): void {
  const { key } = known;
  const held = new Map<string, ReturnType<typeof reservationOf>>();
  if (decided !== undefined && isWriting(decided.decision)) {
    const { requests } = workloadOf(decided.parent, { resource: "deployments.apps" });
    for (const [target, share] of decided.decision.plan.goal)
      if (share > 0) held.set(target, reservationOf(requests, share));
  }
  scheduler?.hold(subjectOf(known), held);
  if (decided !== undefined && decided.decision.plan.unplaced > 0) waiting.set(formatKey(key), key);
  else waiting.delete(formatKey(key));
}

function isWriting({ creations, updates, cuts, removals }: Decision): boolean {
  return creations.length + updates.length + cuts.length + removals.length > 0;
}

async function recordPlacement(
  resource: ResourceClient<Deployment>,
  parent: Deployment,
  { placementHistory }: Decision,
  signal: AbortSignal,
): Promise<Deployment> {
  if (placementHistory === undefined) return parent;
  const { namespace, name, resourceVersion = "" } = parent.metadata;
  const annotations = { [placementHistoryAnnotation]: placementHistory };
  const patch = { metadata: { annotations, resourceVersion } };
  return await resource.patch({ namespace, name }, { type: "merge", patch }, { signal });
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
