/** The reservations of a workload, as its WorkloadPlacement records them. */
import { formatKey, type ObjectKey, type StringMap } from "@kcp-ts/sdk";
import type { WorkloadPlacement } from "../api/index.ts";
import type { InFlightReplicas } from "./in-flight.ts";
import type { ReservationCache, WorkloadKey } from "./reservation-cache.ts";
import { parseResourceAmounts, type ResourceAmounts } from "./resource-amounts.ts";

export interface PlacedWorkload {
  /** Its kind and name, as `WorkloadKey` has them. */
  readonly workload: Pick<WorkloadKey, "resource" | "name">;
  readonly labels: StringMap;
  readonly clusters: readonly PlacedInCluster[];
  readonly inFlight: ReadonlyMap<string, InFlightReplicas>;
}

interface PlacedInCluster {
  readonly name: string;
  readonly amounts: ResourceAmounts;
  readonly isUnreachable: boolean | undefined;
}

/** The kind in the key of a workload, such as `Deployment.apps`. */
export function workloadKindKey({
  group,
  kind,
}: {
  readonly group: string;
  readonly kind: string;
}): string {
  return `${kind}.${group}`;
}

export function placedWorkloadOf({ metadata, spec, status }: WorkloadPlacement): PlacedWorkload {
  const { apiVersion, kind, name } = spec.workloadRef;
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const clusters: PlacedInCluster[] = [];
  const inFlight = new Map<string, InFlightReplicas>();
  for (const cluster of status?.clusters ?? []) {
    const { name: target, applied = 0, reserved, unreachableSince } = cluster;
    // A cluster without a reservation is one in which the workload is not, or needs nothing.
    if (reserved !== undefined || applied > 0) {
      const isUnreachable = unreachableSince === undefined ? undefined : true;
      clusters.push({ name: target, amounts: parseResourceAmounts(reserved), isUnreachable });
    }
    if (cluster.inFlight !== undefined)
      inFlight.set(target, {
        replicas: cluster.inFlight.replicas,
        reserved: parseResourceAmounts(cluster.inFlight.reserved),
      });
  }
  const workload = { resource: workloadKindKey({ group, kind }), name };
  return { workload, labels: metadata.labels ?? {}, clusters, inFlight };
}

/** Updates the cache with a WorkloadPlacement, which replaces `before`. */
export function observePlacement(
  cache: ReservationCache,
  { cluster, namespace, name }: ObjectKey,
  placed: PlacedWorkload | undefined,
  before?: PlacedWorkload,
): void {
  const keyOf = (target: string) => `${formatKey({ cluster, namespace, name })} ${target}`;
  const now = new Set(placed?.clusters.map((one) => one.name));
  for (const { name: target } of before?.clusters ?? [])
    if (!now.has(target)) cache.forgetCopy(keyOf(target));
  if (placed === undefined) {
    if (before !== undefined)
      cache.observeInFlight({ cluster, namespace, ...before.workload }, new Map());
    return;
  }
  const { workload, labels, clusters, inFlight } = placed;
  const id = { cluster, namespace, ...workload };
  cache.observeInFlight(id, inFlight, labels);
  for (const { name: target, amounts, isUnreachable } of clusters)
    cache.observe({ ...id, key: keyOf(target), target, labels, amounts, isUnreachable });
}
