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
    }
    this.#checkLimits();
    this.#checkTenants();
  }

  /** Moves, drains, roll-outs and crashes take no ready replica away that is asked for. */
  #checkAvailability(workload: WantedWorkload): void {
    const { kind, isStopBeforeStart } = workload;
    const isOrdinal = kind === "StatefulSet";
    if ((kind !== "Deployment" && !isOrdinal) || isStopBeforeStart || this.isLosing) return;
    const ready = readyPods(this.#system, workload);
    // An ordinal stops before it starts elsewhere, and its successor waits for it.
    if (ready < workload.floor - (isOrdinal ? 1 : 0))
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
      podsOf(this.#system, workload)
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
