/**
 * What to do about one Service, from all there is to know about it. Pure; the controller does it.
 *
 * Decided anew from the whole state each time, so it does not matter what was missed, or in which order things happened.
 */
import { type JsonObject, parseJson } from "@kcp-ts/machinery/json";
import { applyJsonPatch, readJsonPatch } from "@kcp-ts/machinery/patch";
import { stringMember, timestamp } from "@kcp-ts/sdk";
import {
  assignedTargets,
  exportAnnotation,
  exportedSinceAnnotation,
  jsonObjectOf,
  type ServiceExport,
  type ServiceImport,
  sourceClusterLabel,
  specDiffAnnotation,
  statusAnnotation,
} from "../api/index.ts";
import {
  type ClusterInfo,
  earliest,
  isPropagated,
  withPropagatedTargets,
} from "../coordination/index.ts";
import { derivedServiceName, wantsDerivedService } from "./derived-service.ts";
import { addressesIn, aggregateAddresses, withAddresses } from "./fold-addresses.ts";
import { type TrafficHoldChanges, trafficHoldsOf } from "./holds.ts";
import { type Constituent, type MergedExports, mergeExports } from "./merge-exports.ts";
import { type ImportedSlice, mergeSlices, sourceOf } from "./merge-slices.ts";
import { type EndpointSlice, endpointsOf, readyCount, type Service } from "./objects.ts";
import { endpointVisibilityOf, type TrafficGracePeriods, unreachabilityOf } from "./sight.ts";
import { isSelectedBy, type ServiceWorkload } from "./workload.ts";

export interface ServiceState {
  readonly name: string;
  readonly service: Service | undefined;
  readonly serviceExport: ServiceExport | undefined;
  readonly serviceImport: ServiceImport | undefined;
  /** Copied up from clusters. */
  readonly sources: readonly EndpointSlice[];
  /** Those of the import. */
  readonly imported: readonly EndpointSlice[];
  /** All of the namespace. */
  readonly workloads: readonly ServiceWorkload[];
  readonly targets: ReadonlyMap<string, ClusterInfo>;
  readonly patience: TrafficGracePeriods;
  readonly nowMs: number;
}

export interface ServiceDecision {
  /** Where it is to go; the very Service when it is there. */
  readonly service: Service | undefined;
  /** With the addresses that its clusters give it; the very one that it has when nothing changes. */
  readonly status: JsonObject | undefined;
  /** Whether there should be an export of our making; undefined when that is people's business. */
  readonly automaticExport: boolean | undefined;
  readonly verdict: ExportResult;
  /** What should be importable; undefined when nothing is. */
  readonly import: DesiredImport | undefined;
  readonly holds: TrafficHoldChanges;
  readonly wakeAtMs: number | undefined;
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
  /** Since when each cluster exports. */
  readonly since: Readonly<Record<string, string>>;
  /** Whose endpoints count. */
  readonly clusters: readonly string[];
  /** Where it is used. */
  readonly consumers: ReadonlySet<string>;
  readonly slices: readonly ImportedSlice[];
  /** The Service in the clusters that has them behind it; undefined when none is asked for. */
  readonly derived: string | undefined;
}

export function decideService(found: ServiceState): ServiceDecision {
  const { name, service, workloads } = found;
  const behind = (workload: ServiceWorkload) => isSelectedBy(workload, service?.spec);
  const hosts = new Set(workloads.filter(behind).map(({ target }) => target));
  const placed = service && withPropagatedTargets(service, hosts);
  const state = { ...found, sources: sourcesOf(found, placed) };
  const verdict = exportResultOf(state, placed);
  const sight = endpointVisibilityOfClusters(state, behind);
  const losses = lossesOf(state, hosts);
  const slices = mergeSlices(name, state.sources, sight.counts);
  const wanted = desiredImport(state, verdict, placed, sight, slices);
  const published = new Map<string, number>();
  for (const slice of wanted?.slices ?? [])
    published.set(slice.cluster, (published.get(slice.cluster) ?? 0) + readyCount([slice]));
  return {
    service: placed,
    status: service && statusOf(service, sight),
    automaticExport: automaticExport(service, hosts),
    verdict,
    import: wanted,
    holds: trafficHoldsOf({
      service: name,
      workloads,
      isBehind: behind,
      published,
      isLost: losses.isLost,
    }),
    wakeAtMs: earliest(sight.wakeAtMs, losses.wakeAtMs),
  };
}

/**
 * A cluster has a say in what is behind a Service as long as the Service is assigned to it. Any other could put its own address there, under a name that it knows or guesses.
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

/** In one cluster a Service has that one's status, which the syncer brings up; in several, they are put together here. */
function statusOf(
  { metadata, status }: Service,
  { counts }: ClusterEndpointVisibility,
): JsonObject | undefined {
  const { labels, annotations } = metadata;
  const clusters = [...assignedTargets(labels)];
  if (clusters.length < 2) return status;
  const given = clusters.map((cluster) => {
    const own = jsonObjectOf(stringMember(annotations, statusAnnotation(cluster))) ?? {};
    return { cluster, counts: counts(cluster), addresses: addressesIn(own) };
  });
  return withAddresses(status, aggregateAddresses(given));
}

/** Of a Service that follows its Pods: then it is in several clusters without anybody having asked for it, and works from each only if it is imported. */
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

function exportResultOf(state: ServiceState, placed: Service | undefined): ExportResult {
  const { name } = state;
  if (placed === undefined || placed.metadata.deletionTimestamp !== undefined) {
    const message = `there is no Service ${name} in this namespace; create it, or delete the ServiceExport`;
    return { kind: "invalid", reason: "NoService", message };
  }
  if (!isExportable(placed)) {
    const message = `Service ${name} is of type ExternalName, which has no endpoints; delete the ServiceExport`;
    return { kind: "invalid", reason: "InvalidServiceType", message };
  }
  const merged = mergeExports(constituentsOf(state, placed));
  if (merged !== undefined) return { kind: "exported", merged };
  const message = `Service ${name} is in no cluster; it goes where the Pods that it selects are, or where its label workloads.kcp.io/cluster says`;
  return { kind: "pending", message };
}

function constituentsOf(state: ServiceState, placed: Service): readonly Constituent[] {
  const since = exportedSince(state.serviceImport);
  return [...assignedTargets(placed.metadata.labels)].map((cluster) => ({
    cluster,
    sinceMs: since.get(cluster) ?? state.nowMs,
    spec: specIn(placed, cluster),
  }));
}

/** The Service as one cluster has it. A patch that cannot be applied is told by the syncer, and changes nothing. */
function specIn({ metadata, spec = {} }: Service, cluster: string): JsonObject {
  const diff = stringMember(metadata.annotations, specDiffAnnotation(cluster));
  if (diff === undefined) return spec;
  try {
    return applyJsonPatch(spec, readJsonPatch(parseJson(diff))) as JsonObject;
  } catch (error) {
    if (error instanceof Error) return spec;
    throw error;
  }
}

function exportedSince(serviceImport: ServiceImport | undefined): ReadonlyMap<string, number> {
  const text = stringMember(serviceImport?.metadata.annotations, exportedSinceAnnotation);
  const since = new Map<string, number>();
  // Where somebody else has written it, all begin anew.
  for (const [cluster, time] of Object.entries(jsonObjectOf(text) ?? {})) {
    const ms = Date.parse(String(time));
    if (!Number.isNaN(ms)) since.set(cluster, ms);
  }
  return since;
}

interface ClusterEndpointVisibility {
  readonly counts: (cluster: string) => boolean;
  readonly wakeAtMs: number | undefined;
}

/** A doubtful endpoint is better than none: when no cluster that is seen has a ready one that stays, nothing is withdrawn. */
function endpointVisibilityOfClusters(
  state: ServiceState,
  isBehind: (workload: ServiceWorkload) => boolean,
): ClusterEndpointVisibility {
  const { sources, imported, targets, patience, nowMs } = state;
  const clusters = new Set(sources.map(sourceOf).filter((one) => one !== undefined));
  const seen = new Set<string>();
  const times: number[] = [];
  for (const cluster of clusters) {
    const wasWithdrawn = isWithdrawn(cluster, sources, imported);
    const sight = endpointVisibilityOf(targets.get(cluster), wasWithdrawn, nowMs, patience);
    if (sight.counts) seen.add(cluster);
    if (sight.untilMs !== undefined) times.push(sight.untilMs);
  }
  const stay = sources.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const isAnybodyReady = [...seen].some(
    (cluster) =>
      readyCount(stay.filter((one) => sourceOf(one) === cluster)) > 0 &&
      keepsEndpoints(cluster, state, isBehind),
  );
  return {
    counts: (cluster) =>
      clusters.has(cluster)
        ? !isAnybodyReady || seen.has(cluster)
        : endpointVisibilityOf(targets.get(cluster), false, nowMs, patience).counts,
    wakeAtMs: earliest(...times),
  };
}

/** Whether what is behind the Service there is to stay: what has been told to go has ready endpoints for a while, and then none. */
function keepsEndpoints(
  cluster: string,
  { workloads, service }: ServiceState,
  isBehind: (workload: ServiceWorkload) => boolean,
): boolean {
  const there = workloads.filter((one) => one.target === cluster && isBehind(one));
  if (there.length > 0) return there.some(({ replicas, isGoing }) => !isGoing && replicas !== 0);
  // Where it was placed by people, nobody here knows what its endpoints are.
  return service === undefined || !isPropagated(service);
}

/** Which of the clusters that have a workload behind the Service are lost, and when the next one may be. */
function lossesOf({ targets, nowMs, patience }: ServiceState, hosts: ReadonlySet<string>) {
  const found = new Map(
    [...hosts].map((cluster) => [cluster, unreachabilityOf(targets.get(cluster), nowMs, patience)]),
  );
  return {
    isLost: (cluster: string) => found.get(cluster)?.isLost === true,
    wakeAtMs: earliest(...[...found.values()].map(({ untilMs }) => untilMs)),
  };
}

/** It has endpoints, and none of them is published. */
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

/** A Service that is in no cluster for a while keeps its import: who uses it should find it again under the same address. */
function desiredImport(
  state: ServiceState,
  verdict: ExportResult,
  placed: Service | undefined,
  { counts }: ClusterEndpointVisibility,
  slices: readonly ImportedSlice[],
): DesiredImport | undefined {
  if (state.serviceExport === undefined || verdict.kind === "invalid") return undefined;
  const spec = verdict.kind === "exported" ? verdict.merged.spec : state.serviceImport?.spec;
  if (spec === undefined) return undefined;
  const exporting = [...assignedTargets(placed?.metadata.labels)].sort();
  const known = exportedSince(state.serviceImport);
  const since = Object.fromEntries(
    exporting.map((cluster) => [cluster, timestamp(known.get(cluster) ?? state.nowMs)]),
  );
  return {
    spec,
    since,
    clusters: exporting.filter(counts),
    consumers: new Set([...exporting, ...state.workloads.map(({ target }) => target)]),
    slices,
    derived:
      placed !== undefined && wantsDerivedService(placed)
        ? derivedServiceName(state.name)
        : undefined,
  };
}
