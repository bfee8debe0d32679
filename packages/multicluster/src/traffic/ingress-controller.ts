/** Ingresses over several clusters, one controller for all logical clusters: reads an Ingress, its leaves and its Services, and does what `split-ingress.ts` says. */
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  byNamespace,
  type Client,
  Controller,
  EventRecorder,
  type Indexers,
  type KubernetesObject,
  labelsChanged,
  type ObjectKey,
  type ReconcileResult,
} from "@kcp-ts/sdk";
import { assignedTargets, ownedByLabel, type SyncTarget, syncTargets } from "../api/index.ts";
import {
  type ClusterInfo,
  clusterCopyName,
  clusterInfoOf,
  isCopyOf,
  isUnassigned,
  ownerLabelOf,
  ownerLabelValue,
} from "../coordination/index.ts";
import {
  deleteByUid,
  isSameTarget,
  requeueAfter,
  type TrafficControllerOptions,
} from "./acting.ts";
import { type Service, services } from "./objects.ts";
import {
  backendsOf,
  type Ingress,
  type IngressDecision,
  ingresses,
  splitIngress,
} from "./split-ingress.ts";

const indexers = {
  ...(byNamespace as Indexers<KubernetesObject>),
  wholes: { values: (object: KubernetesObject) => (isUnassigned(object) ? [""] : []) },
} satisfies Indexers<KubernetesObject>;

export function ingressController(work: TrafficControllerOptions): Controller {
  const { clusters, clock, concurrency, onError } = work;
  const seen = clusters.source(ingresses, { indexers }).store;
  const events = new EventRecorder({
    component: "ingress-splitter",
    client: (cluster) => clusters.client(cluster),
    clock,
    onError,
  });
  return new Controller({
    name: "ingress-traffic",
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, { client, signal }) => reconcile(key, { ...work, client, events }, signal),
  })
    .watch(ingresses, { indexers, map: wholeOf })
    .watch(services, {
      predicate: labelsChanged,
      map: (_object, { cluster, namespace }) =>
        seen.keysByIndex("namespace", { cluster, value: namespace }),
    })
    .watch<SyncTarget, ClusterInfo>(syncTargets, {
      transform: clusterInfoOf,
      predicate: (change) =>
        change.type !== "updated" || !isSameTarget(change.object, change.previous),
      map: (_target, { cluster }) => seen.keysByIndex("wholes", { cluster, value: "" }),
    });
}

/** A whole is looked at itself; for a leaf, the whole that it belongs to or once belonged to. */
function wholeOf({ metadata }: KubernetesObject, key: ObjectKey): readonly ObjectKey[] {
  if (isUnassigned({ metadata })) return [key];
  const owner = metadata.ownerReferences?.find(
    ({ kind, controller }) => kind === ingresses.kind && controller === true,
  );
  const name = owner?.name ?? ownerLabelOf(metadata.labels);
  return name === undefined ? [] : [{ ...key, name }];
}

interface IngressWork extends TrafficControllerOptions {
  readonly client: Client;
  readonly events: EventRecorder;
}

async function reconcile(
  key: ObjectKey,
  work: IngressWork,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { namespace, name, cluster } = key;
  const { client } = work;
  const resource = client.resource(ingresses);
  const whole = await resource.find({ namespace, name }, { signal });
  // What is being deleted takes its leaves along by itself.
  if (whole?.spec === undefined || !isUnassigned(whole)) return;
  if (whole.metadata.deletionTimestamp !== undefined) return;
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const [{ items }, found] = await Promise.all([
    resource.list({ namespace, labelSelector, signal }),
    backends(client, whole, signal),
  ]);
  const leaves = items.filter((one) => one.spec !== undefined && isCopyOf(one, whole));
  const nowMs = work.clock.now();
  const decision = splitIngress({
    cluster,
    whole,
    leaves,
    services: found,
    takenNames: await takenNames(client, whole, leaves, found, signal),
    targets: new Map(work.targets.list({ cluster }).map((one) => [one.name, one])),
    patience: work.patience,
    nowMs,
  });
  for (const happening of decision.happenings) work.events.record(cluster, whole, happening);
  await write(client, whole, decision, signal);
  return requeueAfter(decision.wakeAtMs, nowMs);
}

async function backends(
  client: Client,
  whole: Ingress,
  signal: AbortSignal,
): Promise<readonly Service[]> {
  const { namespace = "" } = whole.metadata;
  const names = [...backendsOf(whole)];
  const found = await Promise.all(
    names.map((name) => client.resource(services).find({ namespace, name }, { signal })),
  );
  return found.filter((one) => one !== undefined);
}

async function takenNames(
  client: Client,
  { metadata: { name, namespace = "" } }: Ingress,
  leaves: readonly Ingress[],
  found: readonly Service[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const own = new Set(leaves.map(({ metadata }) => metadata.name));
  const taken = new Set<string>();
  for (const cluster of new Set(
    found.flatMap(({ metadata }) => [...assignedTargets(metadata.labels)]),
  )) {
    const wanted = clusterCopyName(name, cluster);
    if (own.has(wanted)) continue;
    const at = { namespace, name: wanted };
    if ((await client.resource(ingresses).find(at, { signal })) !== undefined) taken.add(wanted);
  }
  return taken;
}

/** More first, less afterwards; the addresses in between, so that nobody is sent to what is going. */
async function write(
  client: Client,
  whole: Ingress,
  { creations, updates, removals, status }: IngressDecision,
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(ingresses);
  await Promise.all([
    ...creations.map((leaf) => resource.create(leaf, { signal })),
    ...updates.map((leaf) => resource.update(leaf, { signal })),
  ]);
  if (status !== undefined && status !== whole.status) {
    try {
      await resource.updateStatus({ ...whole, status }, { signal });
    } catch (error) {
      // Gone meanwhile; or a type of that name without a status, which nobody reads then.
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
  for (const leaf of removals) await deleteByUid(client, ingresses, leaf, signal);
}
