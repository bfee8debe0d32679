/**
 * The decision about one Service, from its complete state. Pure; the controller makes the writes.
 *
 * Each decision is made from the complete state, so missed events and their order do not matter.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isPatchError } from "@kcp-ts/machinery/patch";
import { stringMember, timestamp } from "@kcp-ts/sdk";
import {
  assignedTargets,
  exportAnnotation,
  exportedSinceAnnotation,
  jsonObjectOf,
  type ServiceExport,
  type ServiceImport,
  sourceClusterLabel,
  specDiffOf,
  statusAnnotation,
  withSpecDiff,
} from "../api/index.ts";
import {
  type ClusterInfo,
  earliest,
  isPropagated,
  withPropagatedTargets,
} from "../coordination/index.ts";
import { addressesIn, aggregateAddresses, withAddresses } from "./aggregate-addresses.ts";
import { derivedServiceName, wantsDerivedService } from "./derived-service.ts";
import {
  endpointVisibilityOf,
  type TrafficGracePeriods,
  unreachabilityOf,
} from "./endpoint-visibility.ts";
import { type Constituent, type MergedExports, mergeExports } from "./merge-exports.ts";
import { type ImportedSlice, mergeSlices, sourceOf } from "./merge-slices.ts";
import { type EndpointSlice, endpointsOf, readyCount, type Service } from "./objects.ts";
import { type TrafficHoldChanges, trafficHoldsOf } from "./traffic-holds.ts";
import { isSelectedBy, type ServiceWorkload } from "./workload.ts";

export interface ServiceState {
  readonly name: string;
  readonly service: Service | undefined;
  readonly serviceExport: ServiceExport | undefined;
  readonly serviceImport: ServiceImport | undefined;
  /** EndpointSlices that were synced up from clusters. */
  readonly sources: readonly EndpointSlice[];
  /** EndpointSlices of the ServiceImport. */
  readonly imported: readonly EndpointSlice[];
  /** All workloads of the namespace. */
  readonly workloads: readonly ServiceWorkload[];
  readonly targets: ReadonlyMap<string, ClusterInfo>;
  readonly gracePeriods: TrafficGracePeriods;
  readonly nowMs: number;
}

export interface ServiceDecision {
  /** The Service with its assignment; the identical object when nothing changes. */
  readonly service: Service | undefined;
  /** The status with the addresses of its clusters; the identical object when nothing changes. */
  readonly status: JsonObject | undefined;
  /** Whether an automatic export should exist; undefined when a user decides. */
  readonly automaticExport: boolean | undefined;
  readonly exportResult: ExportResult;
  /** The desired import; undefined when none should exist. */
  readonly import: DesiredImport | undefined;
  readonly holds: TrafficHoldChanges;
  readonly requeueAtMs: number | undefined;
}

export type ExportResult =
  | {
      readonly kind: "invalid";
      readonly reason: "NoService" | "InvalidServiceType";
      readonly message: string;
    }
  | { readonly kind: "pending"; readonly message: string }
  | { readonly kind: "exported"; readonly merged: MergedExports };

export interface DesiredImport {
  readonly spec: ServiceImport["spec"];
  /** The time since which each cluster exports the Service. */
  readonly since: Readonly<Record<string, string>>;
  /** The clusters whose endpoints are published. */
  readonly clusters: readonly string[];
  /** The clusters that use the import. */
  readonly consumers: ReadonlySet<string>;
  readonly slices: readonly ImportedSlice[];
  /** The name of the derived Service in the clusters; undefined when none is requested. */
  readonly derived: string | undefined;
}

export function* decideService(found: ServiceState): Resumable<ServiceDecision> {
  const { name, service, workloads } = found;
  const behind = (workload: ServiceWorkload) => isSelectedBy(workload, service?.spec);
  const hosts = new Set(workloads.filter(behind).map(({ target }) => target));
  const placed = service && withPropagatedTargets(service, hosts);
  const state = { ...found, sources: sourcesOf(found, placed) };
  const exportResult = yield* exportResultOf(state, placed);
  const sight = endpointVisibilityOfClusters(state, behind);
  const losses = lossesOf(state, hosts);
  const slices = mergeSlices(name, state.sources, sight.isVisible);
  const wanted = desiredImport(state, exportResult, placed, sight, slices);
  const published = new Map<string, number>();
  for (const slice of wanted?.slices ?? [])
    published.set(slice.cluster, (published.get(slice.cluster) ?? 0) + readyCount([slice]));
  return {
    service: placed,
    status: service && statusOf(service, sight),
    automaticExport: automaticExport(service, hosts),
    exportResult,
    import: wanted,
    holds: trafficHoldsOf({
      service: name,
      workloads,
      isSelected: behind,
      published,
      isUnreachable: losses.isLost,
    }),
    requeueAtMs: earliest(sight.requeueAtMs, losses.wakeAtMs),
  };
}

/**
 * A cluster provides endpoints of a Service only while the Service is assigned to it. Any other
 * cluster could publish its own address under a name that it knows or guesses.
 */
function sourcesOf(
  { service, sources }: ServiceState,
  placed: Service | undefined,
): readonly EndpointSlice[] {
  const assigned = new Set(
    [service, placed].flatMap((one) => [...assignedTargets(one?.metadata.labels)]),
  );
  return sources.filter((slice) => assigned.has(sourceOf(slice) ?? ""));
}

/**
 * In one cluster, a Service has the status of that cluster, which the syncer syncs up; in several
 * clusters, the addresses are aggregated here.
 */
function statusOf(
  { metadata, status }: Service,
  { isVisible }: ClusterEndpointVisibility,
): JsonObject | undefined {
  const { labels, annotations } = metadata;
  const clusters = [...assignedTargets(labels)];
  if (clusters.length < 2) return status;
  const given = clusters.map((cluster) => {
    const own = jsonObjectOf(stringMember(annotations, statusAnnotation(cluster))) ?? {};
    return { cluster, isVisible: isVisible(cluster), addresses: addressesIn(own) };
  });
  return withAddresses(status, aggregateAddresses(given));
}

/**
 * A Service that follows its Pods is in several clusters without a user's request, and reaches the
 * Pods of all clusters only if it is imported.
 */
function automaticExport(
  service: Service | undefined,
  hosts: ReadonlySet<string>,
): boolean | undefined {
  if (service === undefined || service.metadata.deletionTimestamp !== undefined) return false;
  if (!isPropagated(service)) return undefined;
  if (stringMember(service.metadata.annotations, exportAnnotation) === "false") return false;
  return hosts.size > 0 && isExportable(service);
}

function isExportable({ spec }: Service): boolean {
  return spec?.["type"] !== "ExternalName";
}

function* exportResultOf(
  state: ServiceState,
  placed: Service | undefined,
): Resumable<ExportResult> {
  const { name } = state;
  if (placed === undefined || placed.metadata.deletionTimestamp !== undefined) {
    const message = `there is no Service ${name} in this namespace; create it, or delete the ServiceExport`;
    return { kind: "invalid", reason: "NoService", message };
  }
  if (!isExportable(placed)) {
    const message = `Service ${name} is of type ExternalName, which has no endpoints; delete the ServiceExport`;
    return { kind: "invalid", reason: "InvalidServiceType", message };
  }
  const merged = mergeExports(yield* constituentsOf(state, placed));
  if (merged !== undefined) return { kind: "exported", merged };
  const message = `Service ${name} is in no cluster; it goes where the Pods that it selects are, or where its label workload.kcp.io/cluster says`;
  return { kind: "pending", message };
}

function* constituentsOf(state: ServiceState, placed: Service): Resumable<readonly Constituent[]> {
  const since = exportedSince(state.serviceImport);
  const constituents: Constituent[] = [];
  for (const cluster of assignedTargets(placed.metadata.labels)) {
    const sinceMs = since.get(cluster) ?? state.nowMs;
    constituents.push({ cluster, sinceMs, spec: yield* specIn(placed, cluster) });
  }
  return constituents;
}

/**
 * The Service as one cluster has it. The syncer reports an invalid patch, which changes nothing
 * here.
 */
function* specIn({ metadata, spec = {} }: Service, cluster: string): Resumable<JsonObject> {
  const diff = specDiffOf(metadata.annotations, cluster);
  if (diff === undefined) return spec;
  try {
    return yield* withSpecDiff(spec, diff);
  } catch (error) {
    if (isPatchError(error)) return spec;
    throw error;
  }
}

function exportedSince(serviceImport: ServiceImport | undefined): ReadonlyMap<string, number> {
  const text = stringMember(serviceImport?.metadata.annotations, exportedSinceAnnotation);
  const since = new Map<string, number>();
  // If another client has written an invalid value, all exports start anew.
  for (const [cluster, time] of Object.entries(jsonObjectOf(text) ?? {})) {
    const ms = Date.parse(String(time));
    if (!Number.isNaN(ms)) since.set(cluster, ms);
  }
  return since;
}

interface ClusterEndpointVisibility {
  readonly isVisible: (cluster: string) => boolean;
  readonly requeueAtMs: number | undefined;
}

/**
 * A doubtful endpoint is better than none: when no observed cluster has a ready endpoint that
 * stays, nothing is withdrawn.
 */
function endpointVisibilityOfClusters(
  state: ServiceState,
  isBehind: (workload: ServiceWorkload) => boolean,
): ClusterEndpointVisibility {
  const { sources, imported, targets, gracePeriods, nowMs } = state;
  const clusters = new Set(sources.map(sourceOf).filter((one) => one !== undefined));
  const seen = new Set<string>();
  const times: number[] = [];
  for (const cluster of clusters) {
    const wasWithdrawn = isWithdrawn(cluster, sources, imported);
    const sight = endpointVisibilityOf(targets.get(cluster), wasWithdrawn, nowMs, gracePeriods);
    if (sight.isVisible) seen.add(cluster);
    if (sight.untilMs !== undefined) times.push(sight.untilMs);
  }
  const stay = sources.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const isAnybodyReady = [...seen].some(
    (cluster) =>
      readyCount(stay.filter((one) => sourceOf(one) === cluster)) > 0 &&
      keepsEndpoints(cluster, state, isBehind),
  );
  return {
    isVisible: (cluster) =>
      clusters.has(cluster)
        ? !isAnybodyReady || seen.has(cluster)
        : endpointVisibilityOf(targets.get(cluster), false, nowMs, gracePeriods).isVisible,
    requeueAtMs: earliest(...times),
  };
}

/**
 * Whether the endpoints of the Service in the cluster are to stay: a workload that is being removed
 * has ready endpoints for a while, and then none.
 */
function keepsEndpoints(
  cluster: string,
  { workloads, service }: ServiceState,
  isBehind: (workload: ServiceWorkload) => boolean,
): boolean {
  const there = workloads.filter((one) => one.target === cluster && isBehind(one));
  if (there.length > 0)
    return there.some(({ replicas, isDeleting }) => !isDeleting && replicas !== 0);
  // The workloads behind a Service that users have assigned are unknown.
  return service === undefined || !isPropagated(service);
}

/**
 * The Unreachable clusters among those with a workload behind the Service, and when the next one
 * may become Unreachable.
 */
function lossesOf({ targets, nowMs, gracePeriods }: ServiceState, hosts: ReadonlySet<string>) {
  const found = new Map(
    [...hosts].map((cluster) => [
      cluster,
      unreachabilityOf(targets.get(cluster), nowMs, gracePeriods),
    ]),
  );
  return {
    isLost: (cluster: string) => found.get(cluster)?.isLost === true,
    wakeAtMs: earliest(...[...found.values()].map(({ untilMs }) => untilMs)),
  };
}

/** The cluster has endpoints, and none of them is published. */
function isWithdrawn(
  cluster: string,
  sources: readonly EndpointSlice[],
  imported: readonly EndpointSlice[],
): boolean {
  const countIn = (slices: readonly EndpointSlice[]) =>
    slices.reduce((sum, one) => sum + endpointsOf(one).length, 0);
  const own = imported.filter((one) => clusterOf(one) === cluster);
  const copied = sources.filter((one) => sourceOf(one) === cluster);
  return own.length > 0 && countIn(own) === 0 && countIn(copied) > 0;
}

function clusterOf({ metadata }: EndpointSlice): string | undefined {
  return stringMember(metadata.labels, sourceClusterLabel);
}

/**
 * A Service that is in no cluster for a while keeps its import: its clients should find it again
 * under the same address.
 */
function desiredImport(
  state: ServiceState,
  result: ExportResult,
  placed: Service | undefined,
  { isVisible }: ClusterEndpointVisibility,
  slices: readonly ImportedSlice[],
): DesiredImport | undefined {
  if (state.serviceExport === undefined || result.kind === "invalid") return undefined;
  const spec = result.kind === "exported" ? result.merged.spec : state.serviceImport?.spec;
  if (spec === undefined) return undefined;
  const exporting = [...assignedTargets(placed?.metadata.labels)].sort();
  const known = exportedSince(state.serviceImport);
  const since = Object.fromEntries(
    exporting.map((cluster) => [cluster, timestamp(known.get(cluster) ?? state.nowMs)]),
  );
  return {
    spec,
    since,
    clusters: exporting.filter(isVisible),
    consumers: new Set([...exporting, ...state.workloads.map(({ target }) => target)]),
    slices,
    derived:
      placed !== undefined && wantsDerivedService(placed)
        ? derivedServiceName(state.name)
        : undefined,
  };
}
