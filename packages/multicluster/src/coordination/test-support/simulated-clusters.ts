/**
 * Simulated clusters for the coordinator of Deployments, without servers: an API with versions and
 * conflicts, and clusters that start Pods after a while, report late, fail, flap and return. One
 * seed determines everything.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { SeededRandom } from "@kcp-ts/testkit";
import { clusterLabel, softFinalizersOf } from "../../api/index.ts";
import { desiredReplicasAnnotation } from "../cluster-copy.ts";
import { type ClusterInfo, evaluateCluster, type GracePeriods } from "../cluster-state.ts";
import { type Decision, decide } from "../decide.ts";
import { type Deployment, type DeploymentStatus, replicasOf } from "../deployment.ts";
import { deploymentStrategy } from "../deployment-strategy.ts";
import { readMoveRecord } from "../move-record.ts";
import { placementOf, weightsAnnotation } from "../placement.ts";
import { budgetOf, rolloutOf } from "../rollout-policy.ts";
import { leaseMs, stopLateMsMax } from "./lease.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";

export const gracePeriods: GracePeriods = { unreachableAfterMs: 30_000, recoveryMs: 5000 };
export const tickMs = 500;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

interface ObservedState {
  readonly parent: Deployment;
  readonly copies: readonly Deployment[];
}

export class SimulatedClusters {
  readonly random: SeededRandom;
  readonly history: string[] = [];
  readonly clusters = new Map<string, SimulatedCluster>();
  readonly targets = new Map<string, Mutable<ClusterInfo>>();
  readonly copies = new Map<string, Deployment>();
  parent: Deployment;
  nowMs = Date.UTC(2026, 0, 1);
  writes = 0;
  /** The workload has the StopBeforeStart strategy. */
  isStopBeforeStart = false;
  #version = 1;
  #looks: ObservedState | undefined;
  #settled: { readonly state: string; readonly untilMs: number } | undefined;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const replicas = this.random.integer(20);
    const metadata = { name: "web", namespace: "demo", uid: "whole", generation: 1 };
    this.parent = this.#versioned({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: { replicas, template: { image: "web:0" } },
    });
    this.note(`web asks for ${replicas}`);
  }

  note(text: string): void {
    this.history.push(`${((this.nowMs - Date.UTC(2026, 0, 1)) / 1000).toFixed(1)}s ${text}`);
  }

  join(name: string, labels: Readonly<Record<string, string>> = {}): void {
    this.clusters.set(name, new SimulatedCluster(name, this.random.fork()));
    this.targets.set(name, {
      name,
      labels,
      isReady: false,
      changedAtMs: this.nowMs,
      isUnschedulable: false,
      evictAfterMs: undefined,
      isDeleting: false,
    });
    this.note(`${name} joins`);
  }

  setSpec(change: JsonObject): void {
    const { metadata, spec } = this.parent;
    const generation = (metadata.generation ?? 0) + 1;
    this.parent = this.#versioned({
      ...this.parent,
      metadata: { ...metadata, generation },
      spec: { ...spec, ...change },
    });
  }

  /** Sets placement annotations of the workload; null removes one. */
  annotate(annotations: Readonly<Record<string, string | null>>): void {
    const { metadata } = this.parent;
    this.parent = this.#versioned({
      ...this.parent,
      metadata: { ...metadata, annotations: merged(metadata.annotations, annotations) },
    });
  }

  /** Another controller annotates a copy: a soft finalizer, or the selection for eviction. */
  annotateCopy(name: string, annotations: Readonly<Record<string, string | null>>): void {
    const copy = this.copies.get(name);
    if (copy === undefined) return;
    const { metadata } = copy;
    const changed = merged(metadata.annotations, annotations);
    this.#put({ ...copy, metadata: { ...metadata, annotations: changed } });
  }

  /** A user changes or deletes a copy. */
  editCopy(name: string, change: JsonObject | "delete"): void {
    const copy = this.copies.get(name);
    if (copy === undefined) return;
    if (change === "delete") this.copies.delete(name);
    else this.#put({ ...copy, spec: { ...copy.spec, ...change } });
  }

  tick(): void {
    this.nowMs += tickMs;
    for (const [name, cluster] of this.clusters) {
      this.#watchHealth(name, cluster);
      const id = `web--${name}`;
      const copy = this.copies.get(id);
      const mayHear = !this.isStopBeforeStart || this.nowMs < cluster.leaseUntilMs;
      if (cluster.isUp && mayHear && this.random.chance(0.5)) cluster.receive(copy);
      if (this.isStopBeforeStart) this.#keepLease(name, cluster, copy);
      cluster.tick(this.nowMs);
      if (cluster.isUp && copy !== undefined && this.random.chance(0.5))
        this.#report(cluster, copy);
      const target = this.targets.get(name);
      if (target?.isDeleting === true && copy === undefined) this.targets.delete(name);
    }
    if (this.random.chance(0.6) && this.#isNews()) this.coordinate();
  }

  /**
   * Heartbeats count while the SyncTarget is Ready. The agent stops late, by the margin of the
   * control plane at most.
   */
  #keepLease(name: string, cluster: SimulatedCluster, copy: Deployment | undefined): void {
    const { nowMs, random } = this;
    if (cluster.isUp && this.targets.get(name)?.isReady === true) {
      // With a new lease, the current spec counts.
      if (nowMs >= cluster.leaseUntilMs) cluster.receive(copy);
      cluster.leaseUntilMs = nowMs + leaseMs;
      cluster.stopsAtMs = cluster.leaseUntilMs + random.integer(stopLateMsMax);
    } else if (nowMs >= cluster.stopsAtMs) cluster.stopAll();
  }

  /**
   * Reconciles from the current or, at times, from a stale state; and may be stopped between its
   * writes.
   */
  coordinate(): void {
    const fresh = { parent: this.parent, copies: [...this.copies.values()] };
    const observed = this.#looks !== undefined && this.random.chance(0.2) ? this.#looks : fresh;
    this.#looks = fresh;
    const decision = this.decide(observed);
    const state = this.#state();
    const mishap = this.random.chance(0.1) ? this.random.integer(4) : Number.POSITIVE_INFINITY;
    const before = this.writes;
    this.#execute(decision, observed, mishap);
    // One coordinator runs, and it reads its own writes: only other writers make its state stale.
    if (this.writes > before) this.#looks = undefined;
    const isDone =
      this.writes === before && mishap === Number.POSITIVE_INFINITY && observed === fresh;
    this.#settled = isDone ? { state, untilMs: decision.requeueAtMs ?? Infinity } : undefined;
  }

  /** Without a change, the next reconcile is at the requeue time. */
  #isNews(): boolean {
    const known = this.#settled;
    return known === undefined || this.nowMs >= known.untilMs || known.state !== this.#state();
  }

  #state(): string {
    const copies = [...this.copies.values()].map(({ metadata }) => metadata.resourceVersion);
    return JSON.stringify([this.parent.metadata, copies, [...this.targets.values()]]);
  }

  decide(observed: ObservedState): Decision {
    const targets = [...this.targets.values()].map((one) => {
      const silentSinceMs = one.isReady ? undefined : one.changedAtMs;
      return { ...one, lease: { durationMs: leaseMs, silentSinceMs } };
    });
    const { nowMs } = this;
    const strategy = deploymentStrategy;
    return decide({ strategy, ...observed, takenNames: new Set(), targets, gracePeriods, nowMs });
  }

  stateOf(name: string): string {
    return evaluateCluster(this.targets.get(name), this.nowMs, gracePeriods).state;
  }

  isTrusted(name: string): boolean {
    return evaluateCluster(this.targets.get(name), this.nowMs, gracePeriods).isTrusted;
  }

  /** Pods in all clusters, in any state. */
  running(): number {
    return [...this.clusters.values()].reduce((sum, one) => sum + one.running, 0);
  }

  /** Ready Pods in reliable clusters, after the clusters have observed the current specs. */
  reliablyReady(): number {
    let ready = 0;
    for (const [name, cluster] of this.clusters) {
      const copy = this.copies.get(`web--${name}`);
      if (copy === undefined || !this.isTrusted(name)) continue;
      ready += Math.min(cluster.ready(this.nowMs), replicasOf(copy));
    }
    return ready;
  }

  #execute(decision: Decision, observed: ObservedState, writesMax: number): void {
    let left = writesMax;
    const write = (what: () => void) => {
      if (left-- <= 0) return false;
      what();
      this.writes++;
      return true;
    };
    for (const copy of decision.creations) {
      const name = copy.metadata.name ?? "";
      if (this.copies.has(name)) return;
      const metadata = { ...copy.metadata, name, uid: `uid-${this.#version}`, generation: 0 };
      const made = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: copy.spec };
      if (!write(() => this.#put(made))) return;
    }
    for (const copy of decision.updates) {
      if (!this.#isCurrent(copy) || !write(() => this.#put(copy))) return;
    }
    for (const copy of decision.scaleDowns) {
      if (!this.#isCurrent(copy)) return;
      if (!write(() => this.#checked(copy, observed, () => this.#put(copy)))) return;
    }
    for (const copy of decision.removals) {
      if (!this.#isCurrent(copy)) return;
      const remove = () => {
        if (!this.isStopBeforeStart) this.#checkMayGo(copy);
        this.note(`${copy.metadata.name} is removed`);
        this.copies.delete(copy.metadata.name);
      };
      if (!write(() => this.#checked(copy, observed, remove))) return;
    }
    const { parent } = this;
    if (decision.status === parent.status) return;
    write(() => {
      this.parent = this.#versioned({
        ...parent,
        status: decision.status as DeploymentStatus,
      });
    });
  }

  /** StartBeforeStop, checked in the simulation and not in its reports. */
  #checked(copy: Deployment, observed: ObservedState, cut: () => void): void {
    // The next step serves a scale-up that happens at this very moment.
    const requested = Math.min(replicasOf(this.parent), replicasOf(observed.parent));
    const before = this.reliablyReady();
    const isUndisturbed = [...this.clusters.values()].every(
      (one) => (one.isUp || !this.isTrusted(one.name)) && !one.isRolling,
    );
    // A user changed another copy since it was read: the coordinator is not responsible for that.
    const isMeddledWith = observed.copies.some(
      ({ metadata: { name, generation } }) =>
        name !== copy.metadata.name && this.copies.get(name)?.metadata.generation !== generation,
    );
    const isScaledDown = observed.copies.some(
      ({ metadata }) => Number(metadata.annotations?.[desiredReplicasAnnotation] ?? 0) > requested,
    );
    const { unavailable } = budgetOf(
      rolloutOf(observed.parent.metadata.annotations),
      {},
      requested,
    );
    const least = Math.max(Math.min(1, requested), requested - unavailable);
    // Replicas that were rolled back may stop though too few are ready: they were unavailable in
    // the last report.
    const isGivenUp = readMoveRecord(copy.metadata.annotations) !== undefined;
    const floor = Math.min(least, before);
    const isTrusted = ({ metadata }: Deployment) =>
      this.isTrusted(metadata.name.slice("web--".length));
    const reported = observed.copies.filter(isTrusted).reduce((sum, one) => sum + countsOf(one), 0);
    this.#checkHold(copy);
    // StopBeforeStart stops the old replica first.
    if (this.isStopBeforeStart) {
      cut();
      return;
    }
    this.#checkLastCopy(copy, requested);
    cut();
    const after = this.reliablyReady();
    // A scale-down may stop replicas that became ready since the last report; a move may not.
    if (!isUndisturbed || isMeddledWith || isScaledDown || (isGivenUp && reported < least)) return;
    assert.ok(after >= floor, `${after} ready of ${requested} after a cut, ${before} before it`);
  }

  #checkHold({ metadata }: Deployment): void {
    const current = this.copies.get(metadata.name);
    const name = metadata.name.slice("web--".length);
    const holders = softFinalizersOf(current?.metadata.annotations, name);
    // In an Unreachable cluster, only the desired replicas are lowered, to the requested number.
    const isOut = this.stateOf(name) === "Unreachable";
    assert.ok(isOut || holders.length === 0, `${name} is held by ${holders.join()}`);
  }

  /** When a cluster is drained, another cluster with reported replicas remains. */
  #checkLastCopy(copy: Deployment, requested: number): void {
    const before = this.copies.get(copy.metadata.name);
    const left = this.copies.has(copy.metadata.name) ? replicasOf(copy) : 0;
    if (requested === 0 || before === undefined || countsOf(before) === 0 || left > 0) return;
    const others = [...this.copies.values()].filter((one) => one !== before);
    const isAnybody = others.some((one) => countsOf(one) > 0);
    const name = copy.metadata.name.slice("web--".length);
    const isSeen = this.isTrusted(name);
    assert.ok(isAnybody || !isSeen, `the last copy, in ${name}, is taken away`);
  }

  /** The copy in an Unreachable cluster is not removed, unless the cluster is to be drained. */
  #checkMayGo({ metadata }: Deployment): void {
    const name = metadata.name.slice("web--".length);
    const { isDeleting = true, evictAfterMs, drain, labels = {} } = this.targets.get(name) ?? {};
    const isOutside = !this.isSelected(labels);
    const isUnwanted =
      isDeleting ||
      evictAfterMs !== undefined ||
      drain !== undefined ||
      isOutside ||
      this.hasZeroWeight(name);
    assert.ok(isUnwanted || this.stateOf(name) !== "Unreachable", `${name} is lost`);
  }

  hasZeroWeight(name: string): boolean {
    return this.parent.metadata.annotations?.[weightsAnnotation] === `${name}=0`;
  }

  isSelected(labels: Readonly<Record<string, string>>): boolean {
    return placementOf(this.parent.metadata.annotations).selector?.matches(labels) !== false;
  }

  #watchHealth(name: string, cluster: SimulatedCluster): void {
    const target = this.targets.get(name);
    if (target === undefined || target.isReady === cluster.isUp) return;
    if (!this.random.chance(0.3)) return;
    target.isReady = cluster.isUp;
    target.changedAtMs = this.nowMs;
    this.note(`${name} is ${target.isReady ? "Ready" : "not Ready"}`);
  }

  #report(cluster: SimulatedCluster, copy: Deployment): void {
    const status = cluster.status(this.nowMs);
    if (status !== undefined) this.#putStatus(copy, status);
  }

  #isCurrent(copy: Deployment): boolean {
    const current = this.copies.get(copy.metadata.name);
    return current?.metadata.resourceVersion === copy.metadata.resourceVersion;
  }

  #put(copy: Deployment): void {
    const { metadata } = copy;
    const before = this.copies.get(metadata.name);
    const isSame = JSON.stringify(before?.spec) === JSON.stringify(copy.spec);
    const generation = (metadata.generation ?? 0) + (isSame ? 0 : 1);
    const from = before === undefined ? "none" : replicasOf(before);
    if (from !== replicasOf(copy)) this.note(`${metadata.name} ${from} to ${replicasOf(copy)}`);
    const next = this.#versioned({ ...copy, metadata: { ...metadata, generation } });
    assert.equal(`web--${metadata.labels?.[clusterLabel]}`, metadata.name);
    this.copies.set(metadata.name, next);
  }

  #putStatus(copy: Deployment, status: DeploymentStatus | undefined): void {
    if (JSON.stringify(copy.status) === JSON.stringify(status)) return;
    const { status: _, ...rest } = copy;
    const next = status === undefined ? rest : { ...rest, status };
    this.copies.set(copy.metadata.name, this.#versioned(next));
  }

  #versioned(object: Deployment): Deployment {
    const resourceVersion = String(this.#version++);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }
}

function countsOf(copy: Deployment): number {
  return Math.min(copy.status?.availableReplicas ?? 0, replicasOf(copy));
}

function merged(
  before: Readonly<Record<string, string>> | undefined,
  changes: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const after = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete after[name];
    else after[name] = value;
  }
  return after;
}
