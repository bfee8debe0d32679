/**
 * Which workloads must not lose Pods yet: those that have ready endpoints of a Service, while another cluster has been given Pods whose endpoints are not all
 * published. Who counts available replicas knows of them before those do who send requests; in between, neither the old nor the new would be reached.
 *
 * Said by a soft finalizer on the workload. It does not wait for a cluster that is lost, nor for what a cluster has given up on. It does wait for one that is not seen for
 * a moment: its replicas count again as soon as it is seen, which is before its endpoints do.
 */
import type { StringMap } from "@kcp-ts/sdk";
import { softFinalizersAnnotationPrefix, trafficFinalizerPrefix } from "../api/index.ts";
import type { ServiceWorkload } from "./workload.ts";

export interface TrafficHoldsInput {
  readonly service: string;
  /** All of the namespace. */
  readonly workloads: readonly ServiceWorkload[];
  readonly isBehind: (workload: ServiceWorkload) => boolean;
  /** By cluster: ready endpoints that are published. */
  readonly published: ReadonlyMap<string, number>;
  readonly isLost: (cluster: string) => boolean;
}

/** Whose soft finalizers are to change. */
export interface TrafficHoldChange {
  readonly workload: ServiceWorkload;
  readonly holders: readonly string[];
}

export interface TrafficHoldChanges {
  readonly added: readonly TrafficHoldChange[];
  readonly released: readonly TrafficHoldChange[];
}

/** By the annotations of a workload: the Services that hold it, in whatever cluster. */
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
  isBehind,
  published,
  isLost,
}: TrafficHoldsInput): TrafficHoldChanges {
  const holder = trafficFinalizerPrefix + service;
  const behind = new Set(workloads.filter(isBehind));
  const asked = new Map<string, number>();
  for (const { target, replicas = 0, isStuck, isGoing } of behind) {
    if (isStuck || isGoing || isLost(target)) continue;
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
