/**
 * A world for the splitter, without servers: an API with versions and conflicts, and clusters that start what they are told to after a while, report
 * late, fail, flap and come back. Everything is drawn from one seed.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { SeededRandom } from "@kcp-ts/testkit";
import { clusterLabel, softFinalizersOf } from "../../api/index.ts";
import { type Decision, decide } from "../decide.ts";
import { type Deployment, type DeploymentStatus, replicasOf } from "../deployment.ts";
import { deploymentStrategy } from "../deployment-strategy.ts";
import { readMoveRecord } from "../move-record.ts";
import { desiredReplicasAnnotation } from "../part.ts";
import { placementOf, weightsAnnotation } from "../placement.ts";
import { budgetOf, rolloutOf } from "../rollout.ts";
import { type ClusterInfo, evaluateCluster, type GracePeriods } from "../standing.ts";
import { SimulatedCluster } from "./cluster.ts";
import { leaseMs, stopLateMsMax } from "./lease.ts";

export const gracePeriods: GracePeriods = { graceMs: 30_000, settleMs: 5000 };
export const tickMs = 500;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

interface ObservedState {
  readonly parent: Deployment;
  readonly parts: readonly Deployment[];
}

export class SimulatedClusters {
  readonly random: SeededRandom;
  readonly history: string[] = [];
  readonly clusters = new Map<string, SimulatedCluster>();
  readonly targets = new Map<string, Mutable<ClusterInfo>>();
  readonly parts = new Map<string, Deployment>();
  parent: Deployment;
  nowMs = Date.UTC(2026, 0, 1);
  writes = 0;
  /** It may run once at most. */
  isOnce = false;
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

  /** What the author says about where and how. Null takes it back. */
  annotate(annotations: Readonly<Record<string, string | null>>): void {
    const { metadata } = this.parent;
    this.parent = this.#versioned({
      ...this.parent,
      metadata: { ...metadata, annotations: merged(metadata.annotations, annotations) },
    });
  }

  /** Somebody says something on a part: that it is needed, or that it is its turn. */
  annotatePart(name: string, annotations: Readonly<Record<string, string | null>>): void {
    const part = this.parts.get(name);
    if (part === undefined) return;
    const { metadata } = part;
    const changed = merged(metadata.annotations, annotations);
    this.#put({ ...part, metadata: { ...metadata, annotations: changed } });
  }

  /** Somebody changes or deletes a part. */
  meddle(name: string, change: JsonObject | "delete"): void {
    const part = this.parts.get(name);
    if (part === undefined) return;
    if (change === "delete") this.parts.delete(name);
    else this.#put({ ...part, spec: { ...part.spec, ...change } });
  }

  tick(): void {
    this.nowMs += tickMs;
    for (const [name, cluster] of this.clusters) {
      this.#watchHealth(name, cluster);
      const id = `web--${name}`;
      const part = this.parts.get(id);
      const mayHear = !this.isOnce || this.nowMs < cluster.leaseUntilMs;
      if (cluster.isUp && mayHear && this.random.chance(0.5)) cluster.receive(part);
      if (this.isOnce) this.#keepLease(name, cluster, part);
      cluster.tick(this.nowMs);
      if (cluster.isUp && part !== undefined && this.random.chance(0.5))
        this.#report(cluster, part);
      const target = this.targets.get(name);
      if (target?.isDeleting === true && part === undefined) this.targets.delete(name);
    }
    if (this.random.chance(0.6) && this.#isNews()) this.split();
  }

  /** Heartbeats count while the API says that they are heard. Late by what the control plane allows for at most. */
  #keepLease(name: string, cluster: SimulatedCluster, part: Deployment | undefined): void {
    const { nowMs, random } = this;
    if (cluster.isUp && this.targets.get(name)?.isReady === true) {
      // With the lease again, what counts is what is asked for now.
      if (nowMs >= cluster.leaseUntilMs) cluster.receive(part);
      cluster.leaseUntilMs = nowMs + leaseMs;
      cluster.stopsAtMs = cluster.leaseUntilMs + random.integer(stopLateMsMax);
    } else if (nowMs >= cluster.stopsAtMs) cluster.halt();
  }

  /** Reads now or, at times, has read a while ago; and may be stopped in the middle of its writes. */
  split(): void {
    const fresh = { parent: this.parent, parts: [...this.parts.values()] };
    const seen = this.#looks !== undefined && this.random.chance(0.2) ? this.#looks : fresh;
    this.#looks = fresh;
    const decision = this.decide(seen);
    const state = this.#state();
    const mishap = this.random.chance(0.1) ? this.random.integer(4) : Number.POSITIVE_INFINITY;
    const before = this.writes;
    this.#execute(decision, seen, mishap);
    // There is one splitter, and it reads what it wrote: only what others do can be news to it.
    if (this.writes > before) this.#looks = undefined;
    const isDone = this.writes === before && mishap === Number.POSITIVE_INFINITY && seen === fresh;
    this.#settled = isDone ? { state, untilMs: decision.wakeAtMs ?? Infinity } : undefined;
  }

  /** Nobody looks again where nothing has changed, but at the time that was said. */
  #isNews(): boolean {
    const known = this.#settled;
    return known === undefined || this.nowMs >= known.untilMs || known.state !== this.#state();
  }

  #state(): string {
    const parts = [...this.parts.values()].map(({ metadata }) => metadata.resourceVersion);
    return JSON.stringify([this.parent.metadata, parts, [...this.targets.values()]]);
  }

  decide(seen: ObservedState): Decision {
    const targets = [...this.targets.values()].map((one) => {
      const silentSinceMs = one.isReady ? undefined : one.changedAtMs;
      return { ...one, lease: { durationMs: leaseMs, silentSinceMs } };
    });
    const { nowMs } = this;
    const strategy = deploymentStrategy;
    return decide({
      strategy,
      ...seen,
      takenNames: new Set(),
      targets,
      patience: gracePeriods,
      nowMs,
    });
  }

  standingOf(name: string): string {
    return evaluateCluster(this.targets.get(name), this.nowMs, gracePeriods).standing;
  }

  isTrusted(name: string): boolean {
    return evaluateCluster(this.targets.get(name), this.nowMs, gracePeriods).isTrusted;
  }

  /** Pods, wherever and in whatever state. */
  running(): number {
    return [...this.clusters.values()].reduce((sum, one) => sum + one.running, 0);
  }

  /** Pods that run and are ready in clusters that can be relied on, had they the replicas that the API says now. */
  reliablyReady(): number {
    let ready = 0;
    for (const [name, cluster] of this.clusters) {
      const part = this.parts.get(`web--${name}`);
      if (part === undefined || !this.isTrusted(name)) continue;
      ready += Math.min(cluster.ready(this.nowMs), replicasOf(part));
    }
    return ready;
  }

  #execute(decision: Decision, seen: ObservedState, writesMax: number): void {
    let left = writesMax;
    const write = (what: () => void) => {
      if (left-- <= 0) return false;
      what();
      this.writes++;
      return true;
    };
    for (const part of decision.creations) {
      const name = part.metadata.name ?? "";
      if (this.parts.has(name)) return;
      const metadata = { ...part.metadata, name, uid: `uid-${this.#version}`, generation: 0 };
      const made = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: part.spec };
      if (!write(() => this.#put(made))) return;
    }
    for (const part of decision.updates) {
      if (!this.#isCurrent(part) || !write(() => this.#put(part))) return;
    }
    for (const part of decision.cuts) {
      if (!this.#isCurrent(part)) return;
      if (!write(() => this.#checked(part, seen, () => this.#put(part)))) return;
    }
    for (const part of decision.removals) {
      if (!this.#isCurrent(part)) return;
      const remove = () => {
        if (!this.isOnce) this.#checkMayGo(part);
        this.note(`${part.metadata.name} is removed`);
        this.parts.delete(part.metadata.name);
      };
      if (!write(() => this.#checked(part, seen, remove))) return;
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

  /** Make before break, in the world as it is and not as it is reported. */
  #checked(part: Deployment, seen: ObservedState, cut: () => void): void {
    // Whoever scales it up at this very moment is served by the next step.
    const asked = Math.min(replicasOf(this.parent), replicasOf(seen.parent));
    const before = this.reliablyReady();
    const isUndisturbed = [...this.clusters.values()].every(
      (one) => (one.isUp || !this.isTrusted(one.name)) && !one.isRolling,
    );
    // Somebody else wrote another part since it was read: that is theirs.
    const isMeddledWith = seen.parts.some(
      ({ metadata: { name, generation } }) =>
        name !== part.metadata.name && this.parts.get(name)?.metadata.generation !== generation,
    );
    const isScaledDown = seen.parts.some(
      ({ metadata }) => Number(metadata.annotations?.[desiredReplicasAnnotation] ?? 0) > asked,
    );
    const { unavailable } = budgetOf(rolloutOf(seen.parent.metadata.annotations), {}, asked);
    const least = Math.max(Math.min(1, asked), asked - unavailable);
    // What was given up may go though too little is ready: it was not, when it was last heard of.
    const isGivenUp = readMoveRecord(part.metadata.annotations) !== undefined;
    const floor = Math.min(least, before);
    const isTrusted = ({ metadata }: Deployment) =>
      this.isTrusted(metadata.name.slice("web--".length));
    const reported = seen.parts.filter(isTrusted).reduce((sum, one) => sum + countsOf(one), 0);
    this.#checkHold(part);
    // It breaks before it makes.
    if (this.isOnce) {
      cut();
      return;
    }
    this.#checkLastCopy(part, asked);
    cut();
    const after = this.reliablyReady();
    // Who asks for less may lose what became ready since the last report; moves may not.
    if (!isUndisturbed || isMeddledWith || isScaledDown || (isGivenUp && reported < least)) return;
    assert.ok(after >= floor, `${after} ready of ${asked} after a cut, ${before} before it`);
  }

  #checkHold({ metadata }: Deployment): void {
    const current = this.parts.get(metadata.name);
    const name = metadata.name.slice("web--".length);
    const holders = softFinalizersOf(current?.metadata.annotations, name);
    // Of what cannot be reached only the claim is made smaller, to what the whole asks for.
    const isOut = this.standingOf(name) === "lost";
    assert.ok(isOut || holders.length === 0, `${name} is held by ${holders.join()}`);
  }

  /** Whoever is emptied leaves somebody behind who says that it has some. */
  #checkLastCopy(part: Deployment, asked: number): void {
    const before = this.parts.get(part.metadata.name);
    const left = this.parts.has(part.metadata.name) ? replicasOf(part) : 0;
    if (asked === 0 || before === undefined || countsOf(before) === 0 || left > 0) return;
    const others = [...this.parts.values()].filter((one) => one !== before);
    const isAnybody = others.some((one) => countsOf(one) > 0);
    const name = part.metadata.name.slice("web--".length);
    const isSeen = this.isTrusted(name);
    assert.ok(isAnybody || !isSeen, `the last copy, in ${name}, is taken away`);
  }

  /** What cannot be seen is not removed, unless somebody wants the cluster empty. */
  #checkMayGo({ metadata }: Deployment): void {
    const name = metadata.name.slice("web--".length);
    const { isDeleting = true, evictAfterMs, drain, labels = {} } = this.targets.get(name) ?? {};
    const isOutside = !this.isSelected(labels);
    const isUnwanted =
      isDeleting ||
      evictAfterMs !== undefined ||
      drain !== undefined ||
      isOutside ||
      this.isWeightless(name);
    assert.ok(isUnwanted || this.standingOf(name) !== "lost", `${name} is lost`);
  }

  isWeightless(name: string): boolean {
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

  #report(cluster: SimulatedCluster, part: Deployment): void {
    const status = cluster.status(this.nowMs);
    if (status !== undefined) this.#putStatus(part, status);
  }

  #isCurrent(part: Deployment): boolean {
    const current = this.parts.get(part.metadata.name);
    return current?.metadata.resourceVersion === part.metadata.resourceVersion;
  }

  #put(part: Deployment): void {
    const { metadata } = part;
    const before = this.parts.get(metadata.name);
    const isSame = JSON.stringify(before?.spec) === JSON.stringify(part.spec);
    const generation = (metadata.generation ?? 0) + (isSame ? 0 : 1);
    const from = before === undefined ? "none" : replicasOf(before);
    if (from !== replicasOf(part)) this.note(`${metadata.name} ${from} to ${replicasOf(part)}`);
    const next = this.#versioned({ ...part, metadata: { ...metadata, generation } });
    assert.equal(`web--${metadata.labels?.[clusterLabel]}`, metadata.name);
    this.parts.set(metadata.name, next);
  }

  #putStatus(part: Deployment, status: DeploymentStatus | undefined): void {
    if (JSON.stringify(part.status) === JSON.stringify(status)) return;
    const { status: _, ...rest } = part;
    const next = status === undefined ? rest : { ...rest, status };
    this.parts.set(part.metadata.name, this.#versioned(next));
  }

  #versioned(object: Deployment): Deployment {
    const resourceVersion = String(this.#version++);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }
}

function countsOf(part: Deployment): number {
  return Math.min(part.status?.availableReplicas ?? 0, replicasOf(part));
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
