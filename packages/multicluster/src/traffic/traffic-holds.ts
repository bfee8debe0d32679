/**
 * Decides which workloads must not lose Pods yet: those with ready endpoints of a Service, while
 * another cluster has Pods whose endpoints are not all published. The coordinator observes
 * available replicas before clients of the Service observe their endpoints; in between, clients
 * would reach neither the old nor the new Pods.
 *
 * A soft finalizer on the workload represents the hold. The hold does not wait for an Unreachable
 * cluster, nor for replicas past their progress deadline. It does wait for a cluster that is
 * unobserved for a moment: its replicas count again as soon as the cluster is observed, which is
 * before its endpoints do.
 */
import type { StringMap } from "@kcp-ts/sdk";
import { softFinalizersAnnotationPrefix, trafficFinalizerPrefix } from "../api/index.ts";
import type { ServiceWorkload } from "./workload.ts";

export interface TrafficHoldsInput {
  readonly service: string;
  /** All workloads of the namespace. */
  readonly workloads: readonly ServiceWorkload[];
  readonly isSelected: (workload: ServiceWorkload) => boolean;
  /** The number of ready published endpoints by cluster. */
  readonly published: ReadonlyMap<string, number>;
  readonly isUnreachable: (cluster: string) => boolean;
}

/** The workloads whose soft finalizers are to change. */
export interface TrafficHoldChange {
  readonly workload: ServiceWorkload;
  readonly holders: readonly string[];
}

export interface TrafficHoldChanges {
  readonly added: readonly TrafficHoldChange[];
  readonly released: readonly TrafficHoldChange[];
}

/** The Services that hold a workload, in any cluster, by its annotations. */
export function servicesHoldingTraffic(annotations: StringMap | undefined): readonly string[] {
  const names = new Set<string>();
  for (const [key, value] of Object.entries(annotations ?? {})) {
    if (!key.startsWith(softFinalizersAnnotationPrefix)) continue;
    for (const holder of value.split(",").map((one) => one.trim()))
      if (holder.startsWith(trafficFinalizerPrefix))
        names.add(holder.slice(trafficFinalizerPrefix.length));
  }
  return [...names];
}

export function trafficHoldsOf({
  service,
  workloads,
  isSelected,
  published,
  isUnreachable,
}: TrafficHoldsInput): TrafficHoldChanges {
  const holder = trafficFinalizerPrefix + service;
  const behind = new Set(workloads.filter(isSelected));
  const asked = new Map<string, number>();
  for (const { target, replicas = 0, isStuck, isDeleting } of behind) {
    if (isStuck || isDeleting || isUnreachable(target)) continue;
    asked.set(target, (asked.get(target) ?? 0) + replicas);
  }
  const publishedIn = (cluster: string) => published.get(cluster) ?? 0;
  const late = [...asked].filter(([cluster, most]) => publishedIn(cluster) < most);
  const added: TrafficHoldChange[] = [];
  const released: TrafficHoldChange[] = [];
  for (const workload of workloads) {
    const { target, holders } = workload;
    const isNeeded =
      behind.has(workload) &&
      publishedIn(target) > 0 &&
      late.some(([cluster]) => cluster !== target);
    const isHeld = holders.includes(holder);
    if (isNeeded && !isHeld) added.push({ workload, holders: [...holders, holder] });
    if (!isNeeded && isHeld)
      released.push({ workload, holders: holders.filter((one) => one !== holder) });
  }
  return { added, released };
}
