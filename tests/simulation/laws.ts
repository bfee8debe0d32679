/**
 * The laws of placement, each stated once. Some hold at every moment, in what clusters really run;
 * others when nothing is left to do.
 */
import type { ObservedPod } from "./cluster-observer.ts";
import type { Model, WantedWorkload } from "./model.ts";
import type { SimulatedSystem } from "./simulated-system.ts";

export class BrokenLaw extends Error {
  override readonly name = "BrokenLaw";
  readonly law: string;

  constructor(law: string, message: string) {
    super(message);
    this.law = law;
  }
}

/** Pods of a workload in all clusters, with the name of the cluster. */
export function podsOf(
  system: SimulatedSystem,
  { tenant, name }: Pick<WantedWorkload, "tenant" | "name">,
): readonly (readonly [string, ObservedPod])[] {
  const found: (readonly [string, ObservedPod])[] = [];
  for (const { name: cluster, observer } of system.clusters.values())
    for (const pod of observer.pods.values())
      if (pod.tenant === tenant && pod.workload === name) found.push([cluster, pod]);
  return found;
}

/** The clusters in which a CronJob is not suspended. */
export function schedulersOf(system: SimulatedSystem, { tenant, name }: WantedWorkload): string[] {
  const clusters = [...system.clusters.values()].filter(({ observer }) =>
    [...observer.workloads.values()].some(
      (one) =>
        one.tenant === tenant && one.workload === name && one.isScheduling && !one.isTerminating,
    ),
  );
  return clusters.map((cluster) => cluster.name);
}

export function readyPods(system: SimulatedSystem, workload: WantedWorkload): number {
  return podsOf(system, workload).filter(
    ([, { isReady, isTerminating }]) => isReady && !isTerminating,
  ).length;
}

/** Checks that are made after every change in a cluster. */
export class StepLaws {
  readonly #system: SimulatedSystem;
  readonly #model: Model;
  /** While a cluster loses Pods, nothing is said of availability. */
  isLosing = false;
  /** Replicas whose disruption is blocked, by workload and cluster, once the cluster has them. */
  readonly #blocked = new Map<string, { readonly replicas: number; isThere: boolean }>();
  /** The Pods that a cluster is asked to run, when it was last within its limit or given one. */
  readonly #assigned = new Map<string, number>();

  constructor(system: SimulatedSystem, model: Model) {
    this.#system = system;
    this.#model = model;
  }

  check(): void {
    for (const workload of this.#model.workloads.values()) {
      this.#checkAvailability(workload);
      this.#checkAtMostOne(workload);
      this.#checkOrdinals(workload);
      this.#checkBlocks(workload);
    }
    this.#checkLimits();
    this.#checkTenants();
  }

  /** Moves, drains, roll-outs and crashes take no ready replica away that is asked for. */
  #checkAvailability(workload: WantedWorkload): void {
    const { kind, isStopBeforeStart } = workload;
    const isOrdinal = kind === "StatefulSet";
    const isCounted = kind === "Deployment" || kind === "Pod" || isOrdinal;
    if (!isCounted || isStopBeforeStart || this.isLosing) return;
    const { pods = 0, podsMost = 0 } = this.#model.locationLimits.get(workload.tenant) ?? {};
    // What a lowered limit does not allow has no replacement where it has to leave.
    if (pods < podsMost) workload.floor = 0;
    const ready = readyPods(this.#system, workload);
    // An ordinal stops before it starts elsewhere, and its successor waits for it.
    if (ready < workload.floor - Math.max(isOrdinal ? 1 : 0, workload.unavailableMax))
      throw new BrokenLaw(
        "availability",
        `${ready} replicas of ${workload.name} are ready, and ${workload.floor} were: ${where(this.#system, workload)}`,
      );
    if (!workload.isRollingOut)
      workload.floor = Math.max(workload.floor, Math.min(ready, workload.replicas));
  }

  /** Of a StopBeforeStart workload with one replica, no two Pods run, terminating ones included. */
  #checkAtMostOne(workload: WantedWorkload): void {
    if (!workload.isStopBeforeStart || workload.replicas !== 1) return;
    const clusters = new Set(
      workload.kind === "CronJob"
        ? schedulersOf(this.#system, workload)
        : podsOf(this.#system, workload)
            .filter(([, { hasEnded }]) => !hasEnded)
            .map(([cluster]) => cluster),
    );
    if (clusters.size > 1)
      throw new BrokenLaw(
        "at most one",
        `${workload.name} runs in ${[...clusters].sort().join(" and ")}`,
      );
  }

  /** An ordinal of a StatefulSet runs in one cluster, terminating Pods included. */
  #checkOrdinals(workload: WantedWorkload): void {
    if (workload.kind !== "StatefulSet") return;
    const places = new Map<string, string>();
    for (const [cluster, { name, hasEnded }] of podsOf(this.#system, workload)) {
      if (hasEnded) continue;
      const other = places.get(name);
      if (other !== undefined && other !== cluster)
        throw new BrokenLaw("at most one", `${name} runs in ${other} and ${cluster}`);
      places.set(name, cluster);
    }
  }

  /** While its disruption is blocked, a cluster's share of a workload is not taken away. */
  #checkBlocks({ tenant, name }: WantedWorkload): void {
    for (const { name: cluster, observer } of this.#system.clusters.values()) {
      const blocked = this.#blocked.get(`${tenant}/${name}/${cluster}`);
      if (blocked === undefined) continue;
      let assigned = 0;
      for (const one of observer.workloads.values())
        if (one.tenant === tenant && one.workload === name && !one.isTerminating)
          assigned += one.pods;
      if (assigned >= blocked.replicas) blocked.isThere = true;
      else if (blocked.isThere)
        throw new BrokenLaw(
          "a block holds",
          `${cluster} is asked to run ${assigned} Pods of ${name}, and the disruption of ${blocked.replicas} is blocked`,
        );
    }
  }

  block(tenant: string, name: string, cluster: string, replicas: number): void {
    this.#blocked.set(`${tenant}/${name}/${cluster}`, { replicas, isThere: false });
  }

  /** Users, or the loss of a cluster, take away what a block would keep. */
  unblock(isMeant: (tenant: string, name: string, cluster: string) => boolean): void {
    for (const key of this.#blocked.keys()) {
      const [tenant = "", name = "", cluster = ""] = key.split("/");
      if (isMeant(tenant, name, cluster)) this.#blocked.delete(key);
    }
  }

  /** A cluster with more than its limit gets nothing more. */
  #checkLimits(): void {
    for (const { name: cluster, observer } of this.#system.clusters.values()) {
      for (const { tenant, podsMax } of this.#model.targets.values()) {
        const key = `${tenant}/${cluster}`;
        const target = this.#model.target(tenant, cluster);
        if (target === undefined || target.podsMax === undefined || podsMax === undefined) {
          this.#assigned.delete(key);
          continue;
        }
        let assigned = 0;
        for (const one of observer.workloads.values())
          if (one.tenant === tenant && !one.isTerminating) assigned += one.pods;
        const before = this.#assigned.get(key) ?? assigned;
        if (assigned > target.podsMax && assigned > before)
          throw new BrokenLaw(
            "limits",
            `${cluster} is asked to run ${assigned} Pods of ${tenant}, its limit is ${target.podsMax}, and it had ${before}`,
          );
        this.#assigned.set(key, assigned);
      }
    }
  }

  /** A limit has changed: what is there may stay. */
  forgetLimit(tenant: string, cluster: string): void {
    this.#assigned.delete(`${tenant}/${cluster}`);
  }

  /** A tenant's workloads are in clusters that this tenant has registered. */
  #checkTenants(): void {
    for (const { name: cluster, observer } of this.#system.clusters.values())
      for (const { tenant, workload } of observer.workloads.values())
        if (this.#model.target(tenant, cluster) === undefined)
          throw new BrokenLaw(
            "tenants apart",
            `${workload} of ${tenant} is in ${cluster}, which ${tenant} has not registered`,
          );
  }
}

export function where(system: SimulatedSystem, workload: WantedWorkload): string {
  const counts = new Map<string, string[]>();
  for (const [cluster, pod] of podsOf(system, workload)) {
    const state = pod.isTerminating
      ? "terminating"
      : pod.hasEnded
        ? "ended"
        : pod.isReady
          ? "ready"
          : "starting";
    counts.set(cluster, [...(counts.get(cluster) ?? []), state]);
  }
  const texts = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return texts.map(([cluster, states]) => `${cluster}: ${states.sort().join(" ")}`).join("; ");
}
