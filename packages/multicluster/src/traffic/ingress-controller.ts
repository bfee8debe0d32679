/**
 * The controller of Ingresses over several clusters, one for all logical clusters: reads an
 * Ingress, its leaves and its Services, and makes the writes that `split-ingress.ts` decides.
 */
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
} from "./controller-support.ts";
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

/** A root Ingress maps to itself; a leaf maps to the root that it belongs or belonged to. */
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
  const root = await resource.find({ namespace, name }, { signal });
  // The leaves of an Ingress that is being deleted are garbage-collected.
  if (root?.spec === undefined || !isUnassigned(root)) return;
  if (root.metadata.deletionTimestamp !== undefined) return;
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const [{ items }, found] = await Promise.all([
    resource.list({ namespace, labelSelector, signal }),
    backends(client, root, signal),
  ]);
  const leaves = items.filter((one) => one.spec !== undefined && isCopyOf(one, root));
  const nowMs = work.clock.now();
  const decision = splitIngress({
    cluster,
    root,
    leaves,
    services: found,
    takenNames: await takenNames(client, root, leaves, found, signal),
    targets: new Map(work.targets.list({ cluster }).map((one) => [one.name, one])),
    gracePeriods: work.gracePeriods,
    nowMs,
  });
  for (const event of decision.events) work.events.record(cluster, root, event);
  await write(client, root, decision, signal);
  return requeueAfter(decision.requeueAtMs, nowMs);
}

async function backends(
  client: Client,
  workload: Ingress,
  signal: AbortSignal,
): Promise<readonly Service[]> {
  const { namespace = "" } = workload.metadata;
  const names = [...backendsOf(workload)];
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

/**
 * Creations first, deletions last; the addresses in between, so that no client is sent to a leaf
 * that is being deleted.
 */
async function write(
  client: Client,
  workload: Ingress,
  { creations, updates, removals, status }: IngressDecision,
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(ingresses);
  await Promise.all([
    ...creations.map((leaf) => resource.create(leaf, { signal })),
    ...updates.map((leaf) => resource.update(leaf, { signal })),
  ]);
  if (status !== undefined && status !== workload.status) {
    try {
      await resource.updateStatus({ ...workload, status }, { signal });
    } catch (error) {
      // The Ingress was deleted meanwhile; or the kind has no status subresource, whose status no
      // client reads.
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
  for (const leaf of removals) await deleteByUid(client, ingresses, leaf, signal);
}
