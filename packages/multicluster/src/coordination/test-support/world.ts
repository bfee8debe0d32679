/**
 * A world for the splitter, without servers: an API with versions and conflicts, and clusters that start what they are told to after a while, report
 * late, fail, flap and come back. Everything is drawn from one seed.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { SeededRandom } from "@kcp-ts/testkit";
import { clusterLabel } from "../../api/index.ts";
import { type Decision, decide } from "../decide.ts";
import { type Deployment, type DeploymentStatus, replicasOf } from "../deployment.ts";
import { deploymentStrategy } from "../deployment-strategy.ts";
import { askedReplicasAnnotation } from "../part.ts";
import { weightsAnnotation } from "../placement.ts";
import { judge, type Patience, type Target } from "../standing.ts";
import { Cluster } from "./cluster.ts";

export const patience: Patience = { graceMs: 30_000, settleMs: 5000 };
export const tickMs = 500;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

interface Seen {
  readonly parent: Deployment;
  readonly parts: readonly Deployment[];
}

export class World {
  readonly random: SeededRandom;
  readonly history: string[] = [];
  readonly clusters = new Map<string, Cluster>();
  readonly targets = new Map<string, Mutable<Target>>();
  readonly parts = new Map<string, Deployment>();
  parent: Deployment;
  nowMs = Date.UTC(2026, 0, 1);
  writes = 0;
  #version = 1;
  #looks: Seen | undefined;

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

  join(name: string): void {
    this.clusters.set(name, new Cluster(name, this.random.fork()));
    this.targets.set(name, {
      name,
      labels: {},
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
      if (cluster.isUp && this.random.chance(0.5)) cluster.receive(part);
      cluster.tick(this.nowMs);
      if (cluster.isUp && part !== undefined && this.random.chance(0.5))
        this.#report(cluster, part);
      const target = this.targets.get(name);
      if (target?.isDeleting === true && part === undefined) this.targets.delete(name);
    }
    if (this.random.chance(0.6)) this.split();
  }

  /** Reads now or, at times, has read a while ago; and may be stopped in the middle of its writes. */
  split(): void {
    const fresh = { parent: this.parent, parts: [...this.parts.values()] };
    const seen = this.#looks !== undefined && this.random.chance(0.2) ? this.#looks : fresh;
    this.#looks = fresh;
    const decision = this.decide(seen);
    const mishap = this.random.chance(0.1) ? this.random.integer(4) : Number.POSITIVE_INFINITY;
    const before = this.writes;
    this.#execute(decision, seen, mishap);
    // There is one splitter, and it reads what it wrote: only what others do can be news to it.
    if (this.writes > before) this.#looks = undefined;
  }

  decide(seen: Seen): Decision {
    const targets = [...this.targets.values()].map((one) => ({ ...one }));
    const { nowMs } = this;
    const strategy = deploymentStrategy;
    return decide({ strategy, ...seen, takenNames: new Set(), targets, patience, nowMs });
  }

  standingOf(name: string): string {
    return judge(this.targets.get(name), this.nowMs, patience).standing;
  }

  isTrusted(name: string): boolean {
    return judge(this.targets.get(name), this.nowMs, patience).isTrusted;
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

  #execute(decision: Decision, seen: Seen, writesMax: number): void {
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
        this.#checkMayGo(part);
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
  #checked(part: Deployment, seen: Seen, cut: () => void): void {
    // Whoever scales it up at this very moment is served by the next step.
    const asked = Math.min(replicasOf(this.parent), replicasOf(seen.parent));
    const before = this.reliablyReady();
    const isUndisturbed = [...this.clusters.values()].every(
      (one) => (one.isUp || !this.isTrusted(one.name)) && !one.isRolling,
    );
    const isScaledDown = seen.parts.some(
      ({ metadata }) => Number(metadata.annotations?.[askedReplicasAnnotation] ?? 0) > asked,
    );
    // Of a lost part nobody knows what runs: it is only kept from asking for more than the whole does.
    const isLost = this.standingOf(part.metadata.name.slice("web--".length)) === "lost";
    const isEmpty = replicasOf(this.parts.get(part.metadata.name) ?? part) === 0;
    const floor = isLost || isEmpty ? Math.min(asked, before) : asked;
    cut();
    const after = this.reliablyReady();
    // Who asks for less may lose what became ready since the last report; moves may not.
    if (!isUndisturbed || isScaledDown) return;
    assert.ok(after >= floor, `${after} ready of ${asked} after a cut, ${before} before it`);
  }

  /** What cannot be seen is not removed, unless somebody wants the cluster empty. */
  #checkMayGo({ metadata }: Deployment): void {
    const name = metadata.name.slice("web--".length);
    const { isDeleting = true, evictAfterMs } = this.targets.get(name) ?? {};
    const isUnwanted = isDeleting || evictAfterMs !== undefined || this.isWeightless(name);
    assert.ok(isUnwanted || this.standingOf(name) !== "lost", `${name} is lost`);
  }

  isWeightless(name: string): boolean {
    return this.parent.metadata.annotations?.[weightsAnnotation] === `${name}=0`;
  }

  #watchHealth(name: string, cluster: Cluster): void {
    const target = this.targets.get(name);
    if (target === undefined || target.isReady === cluster.isUp) return;
    if (!this.random.chance(0.3)) return;
    target.isReady = cluster.isUp;
    target.changedAtMs = this.nowMs;
    this.note(`${name} is ${target.isReady ? "Ready" : "not Ready"}`);
  }

  #report(cluster: Cluster, part: Deployment): void {
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
