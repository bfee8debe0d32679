/**
 * The controller of Services over several clusters, one for all logical clusters: reads the
 * complete state of a Service, and makes the writes that `decide-service.ts` decides.
 *
 * Only the readiness of clusters is read from a cache. Watches, of metadata only, enqueue Services.
 */
import { runYielding } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  annotationsChanged,
  anyOf,
  byNamespace,
  type Client,
  Controller,
  generationChanged,
  type Indexers,
  type KubernetesObject,
  type ListOptions,
  labelsChanged,
  type Mapping,
  type ObjectKey,
  type Predicate,
  type ReconcileResult,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import {
  assignedTargets,
  clustersetAnnotation,
  importedServiceLabel,
  isUpsynced,
  type ServiceExport,
  type ServiceImport,
  type SyncTarget,
  serviceExports,
  serviceImports,
  softFinalizersAnnotation,
  syncTargets,
} from "../api/index.ts";
import { type ClusterInfo, clusterInfoOf } from "../coordination/index.ts";
import {
  deleteByUid,
  isSameTarget,
  requeueAfter,
  type TrafficControllerOptions,
} from "./controller-support.ts";
import { type DesiredImport, decideService, type ServiceDecision } from "./decide-service.ts";
import {
  derivedServiceName,
  isDerivedOf,
  newDerivedService,
  updatedDerivedService,
} from "./derived-service.ts";
import {
  automaticExportOf,
  exportStatus,
  importStatus,
  isAutomatic,
  isImportOf,
  isOurImport,
  newImport,
  newSlice,
  updatedImport,
  updatedSlice,
} from "./imports.ts";
import { sourceOf } from "./merge-slices.ts";
import {
  type EndpointSlice,
  endpointSlices,
  type Service,
  serviceNameLabel,
  services,
} from "./objects.ts";
import { servicesHoldingTraffic, type TrafficHoldChange } from "./traffic-holds.ts";
import { type ServiceWorkload, serviceWorkloadsOf } from "./workload.ts";
import { type KindsSource, type WorkloadKind, workloadKinds } from "./workload-kinds.ts";

const indexers = {
  ...(byNamespace as Indexers<KubernetesObject>),
  placed: {
    values: ({ metadata }: KubernetesObject) =>
      assignedTargets(metadata.labels).size > 0 ? [""] : [],
  },
} satisfies Indexers<KubernetesObject>;

export interface ServiceWork extends TrafficControllerOptions {
  readonly kinds: KindsSource;
}

export interface ServiceController {
  readonly controller: Controller;
  /** The Services that a workload may concern. */
  readonly affectedServices: Mapping<KubernetesObject>;
  /** All Services of a logical cluster. */
  readonly all: (cluster: ObjectKey["cluster"]) => readonly ObjectKey[];
}

/** Whether an update of a workload may concern Services. */
export const affectsServices: Predicate<KubernetesObject> = anyOf(
  generationChanged,
  labelsChanged,
  annotationsChanged,
);

export function serviceController(work: ServiceWork): ServiceController {
  const { clusters, clock, concurrency, onError } = work;
  const seen = clusters.source(services, { indexers }).store;
  const affectedServices = ({ metadata }: KubernetesObject, key: ObjectKey) => [
    ...seen.keysByIndex("namespace", { cluster: key.cluster, value: key.namespace }),
    // A deleted Service would never release its hold otherwise.
    ...servicesHoldingTraffic(metadata.annotations).map((name) => ({ ...key, name })),
  ];
  const controller = new Controller({
    name: "service-traffic",
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, { client, signal }) => reconcile(key, client, work, signal),
  })
    .watch(services, { indexers, map: exportedBy })
    .watch(serviceExports)
    .watch(serviceImports)
    .watch(endpointSlices, { map: serviceOf })
    .watch<SyncTarget, ClusterInfo>(syncTargets, {
      transform: clusterInfoOf,
      predicate: (change) =>
        change.type !== "updated" || !isSameTarget(change.object, change.previous),
      map: (_target, { cluster }) => seen.keysByIndex("placed", { cluster, value: "" }),
    });
  for (const { resource, selector = {} } of workloadKinds)
    controller.watch(resource, { selector, predicate: affectsServices, map: affectedServices });
  return {
    controller,
    affectedServices,
    all: (cluster) =>
      seen
        .list({ cluster })
        .map(({ metadata: { namespace = "", name } }) => ({ cluster, namespace, name })),
  };
}

/** A Service itself, and for a derived Service the exported one. */
function exportedBy({ metadata }: KubernetesObject, key: ObjectKey): readonly ObjectKey[] {
  const name = stringMember(metadata.labels, importedServiceLabel) ?? "";
  return name === "" ? [key] : [key, { ...key, name }];
}

/** The Service of an upsynced slice, or of an import's slice. */
function serviceOf({ metadata }: KubernetesObject, key: ObjectKey): readonly ObjectKey[] {
  const { labels } = metadata;
  const name =
    stringMember(labels, importedServiceLabel) ?? stringMember(labels, serviceNameLabel) ?? "";
  return name === "" ? [] : [{ ...key, name }];
}

interface ServiceObjects {
  readonly service: Service | undefined;
  readonly serviceExport: ServiceExport | undefined;
  readonly serviceImport: ServiceImport | undefined;
  /** The Service that has the name of the import's derived Service. */
  readonly derived: Service | undefined;
  readonly sources: readonly EndpointSlice[];
  readonly imported: readonly EndpointSlice[];
  readonly workloads: readonly ServiceWorkload[];
}

async function reconcile(
  key: ObjectKey,
  client: Client,
  work: ServiceWork,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { cluster, name } = key;
  const targets = new Map(work.targets.list({ cluster }).map((one) => [one.name, one]));
  const found = await read(key, client, work.kinds.in(cluster), signal);
  const sources = await withoutGone(found.sources, targets, client, signal);
  const { gracePeriods } = work;
  const nowMs = work.clock.now();
  const decision = await runYielding(
    decideService({ ...found, name, sources, targets, gracePeriods, nowMs }),
  );
  const act = new ServiceActions(client, signal, nowMs);
  await act.hold(decision.holds.added);
  await act.place(found.service, decision);
  const serviceExport = await act.export(found, decision);
  // The import is created in the reconcile that the export's event triggers.
  if (serviceExport !== undefined && found.serviceExport === undefined) return;
  const taken = takenBy(found.serviceImport, serviceExport);
  const isPublished = taken !== undefined || (await act.import(found, serviceExport, decision));
  const said = taken ?? derivedTakenBy(found, decision);
  if (serviceExport !== undefined) await act.recordEvents(serviceExport, decision, said);
  // Holds are released only after the endpoints are published; an obstacle to publishing triggers
  // another reconcile when it ends.
  if (isPublished) await act.hold(decision.holds.released);
  return requeueAfter(decision.requeueAtMs, nowMs);
}

async function read(
  { namespace, name }: ObjectKey,
  client: Client,
  kinds: readonly WorkloadKind[],
  signal: AbortSignal,
): Promise<ServiceObjects> {
  const at = { namespace, name };
  const slices = (label: string) =>
    listed(client, endpointSlices, { namespace, labelSelector: `${label}=${name}`, signal });
  const workloads = kinds.map(async (kind) => {
    const options = { namespace, ...kind.selector, signal };
    const objects = await listed(client, kind.resource, options);
    return objects.flatMap((object) => serviceWorkloadsOf(object, kind));
  });
  const [service, derived, serviceExport, serviceImport, sources, imported, ...lists] =
    await Promise.all([
      client.resource(services).find(at, { signal }),
      client.resource(services).find({ namespace, name: derivedServiceName(name) }, { signal }),
      client.resource(serviceExports).find(at, { signal }),
      client.resource(serviceImports).find(at, { signal }),
      slices(serviceNameLabel),
      slices(importedServiceLabel),
      ...workloads,
    ]);
  return {
    service,
    derived,
    serviceExport,
    serviceImport,
    sources: sources.filter((one) => sourceOf(one) !== undefined),
    // A slice that was synced up from a cluster was not created here, whatever its labels are.
    imported: imported.filter(({ metadata }) => !isUpsynced(metadata.labels)),
    workloads: lists.flat(),
  };
}

/** A kind that is not served has no objects: definitions stay as long as objects do. */
async function listed<Object extends KubernetesObject>(
  client: Client,
  resource: Resource<Object>,
  options: ListOptions,
): Promise<readonly Object[]> {
  try {
    return (await client.resource(resource).list(options)).items;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return [];
    throw error;
  }
}

/**
 * Deletes upsynced slices of unregistered clusters, after a live read has confirmed that the
 * SyncTarget is deleted.
 */
async function withoutGone(
  sources: readonly EndpointSlice[],
  targets: ReadonlyMap<string, ClusterInfo>,
  client: Client,
  signal: AbortSignal,
): Promise<readonly EndpointSlice[]> {
  const kept: EndpointSlice[] = [];
  for (const source of sources) {
    const name = sourceOf(source) ?? "";
    const isKnown =
      targets.has(name) ||
      // The SyncTarget is in another logical cluster: its existence cannot be read here.
      name.includes(".") ||
      (await client.resource(syncTargets).find({ name }, { signal })) !== undefined;
    if (isKnown) kept.push(source);
    else await deleteByUid(client, endpointSlices, source, signal);
  }
  return kept;
}

/** Why an exported Service cannot be imported. */
function takenBy(
  present: ServiceImport | undefined,
  serviceExport: ServiceExport | undefined,
): string | undefined {
  if (present === undefined || serviceExport === undefined) return undefined;
  if (isImportOf(present, serviceExport) || isOurImport(present)) return undefined;
  return `ServiceImport ${present.metadata.name} exists and was not made for this export; delete it`;
}

/** Why the requested derived Service is not created. */
function derivedTakenBy(
  { derived, serviceImport }: ServiceObjects,
  { import: wanted }: ServiceDecision,
): string | undefined {
  if (wanted?.derived === undefined || derived === undefined || serviceImport === undefined)
    return undefined;
  if (isDerivedOf(derived, serviceImport)) return undefined;
  return `Service ${wanted.derived} exists and was not made for this export; delete it, or take the annotation ${clustersetAnnotation} off Service ${serviceImport.metadata.name}`;
}

/** The writes for one Service. */
class ServiceActions {
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #nowMs: number;

  constructor(client: Client, signal: AbortSignal, nowMs: number) {
    this.#client = client;
    this.#signal = signal;
    this.#nowMs = nowMs;
  }

  async hold(changes: readonly TrafficHoldChange[]): Promise<void> {
    for (const { workload, holders } of changes) {
      const value = holders.length === 0 ? null : holders.join();
      const annotations = { [softFinalizersAnnotation(workload.target)]: value };
      await this.#client
        .resource(workload.resource)
        .sameVersion(workload.object)
        .mergePatch({ metadata: { annotations } }, this.#options);
    }
  }

  async place(service: Service | undefined, decision: ServiceDecision): Promise<void> {
    const { service: placed, status } = decision;
    if (placed === undefined || placed.metadata.deletionTimestamp !== undefined) return;
    const resource = this.#client.resource(services);
    const written = placed === service ? placed : await resource.update(placed, this.#options);
    if (status === undefined || status === service?.status) return;
    await resource.updateStatus({ ...written, status }, this.#options);
  }

  /** Returns the export as it is now. */
  async export(
    found: ServiceObjects,
    decision: ServiceDecision,
  ): Promise<ServiceExport | undefined> {
    const { service, serviceExport: present } = found;
    const { automaticExport } = decision;
    const resource = this.#client.resource(serviceExports);
    if (present === undefined) {
      const isWanted =
        automaticExport === true && service?.metadata.deletionTimestamp === undefined;
      if (service === undefined || !isWanted) return undefined;
      return await resource.create(automaticExportOf(service), this.#options);
    }
    if (automaticExport === false && isAutomatic(present)) {
      await deleteByUid(this.#client, serviceExports, present, this.#signal);
      return undefined;
    }
    return present.metadata.deletionTimestamp === undefined ? present : undefined;
  }

  /** Whether all desired objects exist now. */
  async import(
    found: ServiceObjects,
    serviceExport: ServiceExport | undefined,
    { import: wanted }: ServiceDecision,
  ): Promise<boolean> {
    const present = found.serviceImport;
    if (serviceExport === undefined || wanted === undefined) {
      for (const slice of found.imported)
        await deleteByUid(this.#client, endpointSlices, slice, this.#signal);
      if (present !== undefined && isOurImport(present))
        await deleteByUid(this.#client, serviceImports, present, this.#signal);
      return true;
    }
    const owner = await this.#writeImport(present, wanted, serviceExport);
    if (owner === undefined) return false;
    const hasDerived = await this.#writeDerived(found.derived, wanted, owner);
    const derived = hasDerived ? wanted.derived : undefined;
    const isWritten = await this.#writeSlices(found.imported, { ...wanted, derived }, owner);
    const status = importStatus(owner, wanted, this.#nowMs);
    if (status !== owner.status)
      await this.#client.resource(serviceImports).updateStatus({ ...owner, status }, this.#options);
    return isWritten;
  }

  /** Undefined while an earlier import is being deleted. */
  async #writeImport(
    present: ServiceImport | undefined,
    wanted: DesiredImport,
    serviceExport: ServiceExport,
  ): Promise<ServiceImport | undefined> {
    const resource = this.#client.resource(serviceImports);
    if (present === undefined)
      return await resource.create(newImport(wanted, serviceExport), this.#options);
    if (present.metadata.deletionTimestamp !== undefined) return undefined;
    const adjusted = updatedImport(present, wanted, serviceExport);
    return adjusted === present ? present : await resource.update(adjusted, this.#options);
  }

  /** Whether the derived Service exists and belongs to the import. */
  async #writeDerived(
    present: Service | undefined,
    wanted: DesiredImport,
    owner: ServiceImport,
  ): Promise<boolean> {
    const resource = this.#client.resource(services);
    const isOurs = present !== undefined && isDerivedOf(present, owner);
    if (wanted.derived === undefined) {
      if (isOurs) await deleteByUid(this.#client, services, present, this.#signal);
      return false;
    }
    if (present === undefined)
      await resource.create(newDerivedService(owner, wanted), this.#options);
    if (present === undefined) return true;
    if (!isOurs || present.metadata.deletionTimestamp !== undefined) return false;
    const adjusted = updatedDerivedService(present, owner, wanted);
    if (adjusted !== present) await resource.update(adjusted, this.#options);
    return true;
  }

  /** Creations first, deletions last. False while a slice of the same name is being deleted. */
  async #writeSlices(
    present: readonly EndpointSlice[],
    { slices, ...users }: DesiredImport,
    owner: ServiceImport,
  ): Promise<boolean> {
    const resource = this.#client.resource(endpointSlices);
    const byName = new Map(present.map((one) => [one.metadata.name, one]));
    const gains: (() => Promise<unknown>)[] = [];
    const losses: (() => Promise<unknown>)[] = [];
    let isHindered = false;
    for (const slice of slices) {
      const known = byName.get(slice.name);
      byName.delete(slice.name);
      if (known === undefined) {
        gains.push(() => resource.create(newSlice(slice, owner, users), this.#options));
        continue;
      }
      const adjusted = updatedSlice(known, slice, owner, users);
      const isGoing = known.metadata.deletionTimestamp !== undefined;
      isHindered ||= isGoing;
      if (adjusted === known || isGoing) continue;
      const isLess = slice.endpoints.length < (known.endpoints ?? []).length;
      (isLess ? losses : gains).push(() => resource.update(adjusted, this.#options));
    }
    for (const slice of byName.values())
      losses.push(() => deleteByUid(this.#client, endpointSlices, slice, this.#signal));
    await Promise.all(gains.map((write) => write()));
    await Promise.all(losses.map((write) => write()));
    return !isHindered;
  }

  async recordEvents(
    serviceExport: ServiceExport,
    { exportResult }: ServiceDecision,
    taken: string | undefined,
  ): Promise<void> {
    const conditions = exportStatus(serviceExport, exportResult, taken, this.#nowMs);
    if (conditions === undefined || conditions === serviceExport.status?.conditions) return;
    const status = { ...serviceExport.status, conditions };
    await this.#client
      .resource(serviceExports)
      .updateStatus({ ...serviceExport, status }, this.#options);
  }

  get #options() {
    return { signal: this.#signal };
  }
}
