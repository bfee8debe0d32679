/**
 * One workload of a tenant, as an API server stores it: the workload, its per-cluster objects with
 * versions and finalizers, and the claims of its ordinals.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { apiVersionOf, type ObjectInput } from "@kcp-ts/sdk";
import { assignedCluster, syncerFinalizer } from "../../../api/index.ts";
import type { PlacementRecord } from "../../placement-record.ts";
import { conditionsOf, type Workload } from "../../workload.ts";
import type { SimulatedKind } from "./simulated-kinds.ts";
import type { SimulatedClaim } from "./volume-claims.ts";

export interface ObservedWorkload {
  readonly parent: Workload;
  readonly record: PlacementRecord | undefined;
  readonly copies: readonly Workload[];
  readonly related: readonly Workload[];
}

export class SimulatedWorkload {
  readonly tenant: string;
  readonly kind: SimulatedKind;
  readonly isStopBeforeStart: boolean;
  readonly copies = new Map<string, Workload>();
  readonly claims = new Map<number, SimulatedClaim>();
  parent: Workload;
  /** The status of its WorkloadPlacement. */
  record: PlacementRecord | undefined;
  writes = 0;
  /** Each requested replica count, with its last time. */
  readonly requestedAtMs = new Map<number, number>();
  readonly #note: (text: string) => void;
  #version = 1;
  /** The last report, by uid. */
  readonly #reports = new Map<string, string>();

  constructor(
    facts: Pick<SimulatedWorkload, "tenant" | "kind" | "isStopBeforeStart">,
    spec: JsonObject,
    note: (text: string) => void,
  ) {
    this.tenant = facts.tenant;
    this.kind = facts.kind;
    this.isStopBeforeStart = facts.isStopBeforeStart;
    const { workloads } = facts.kind.strategy;
    const metadata = {
      name: facts.kind.name,
      namespace: "demo",
      uid: `${facts.tenant}-${facts.kind.name}`,
      generation: 1,
    };
    this.#note = note;
    this.parent = this.#versioned({
      apiVersion: apiVersionOf(workloads),
      kind: workloads.kind,
      metadata,
      spec,
    });
  }

  /** Changes with every write. */
  get version(): number {
    return this.#version;
  }

  get name(): string {
    return `${this.tenant}/${this.kind.name}`;
  }

  desiredReplicas(parent: Workload = this.parent): number {
    return this.kind.strategy.desiredReplicas(parent);
  }

  observed(): ObservedWorkload {
    const related = [...this.claims.values()].map((claim) => claim.object(this.kind.name));
    return { parent: this.parent, record: this.record, copies: [...this.copies.values()], related };
  }

  edit(spec: JsonObject): void {
    const { metadata } = this.parent;
    const generation = (metadata.generation ?? 0) + 1;
    this.#note(`${this.name} is edited: ${JSON.stringify(spec)}`);
    this.parent = this.#versioned({ ...this.parent, metadata: { ...metadata, generation }, spec });
  }

  annotate(changes: Readonly<Record<string, string | null>>): void {
    this.parent = this.#annotated(this.parent, changes);
  }

  annotateCopy(name: string, changes: Readonly<Record<string, string | null>>): void {
    const copy = this.copies.get(name);
    if (copy !== undefined) this.copies.set(name, this.#annotated(copy, changes));
  }

  writeRecord(record: PlacementRecord): void {
    this.record = record;
    this.writes++;
    this.#version++;
  }

  copiesIn(cluster: string): readonly Workload[] {
    return [...this.copies.values()].filter((copy) => clusterOf(copy) === cluster);
  }

  isCurrent(copy: Workload): boolean {
    const current = this.copies.get(copy.metadata.name);
    return current?.metadata.resourceVersion === copy.metadata.resourceVersion;
  }

  create(input: ObjectInput<Workload>): boolean {
    const { name = "" } = input.metadata;
    if (this.copies.has(name)) return false;
    const { copies } = this.kind.strategy;
    const metadata = { ...input.metadata, name, uid: `uid-${this.#version}`, generation: 1 };
    const made = {
      apiVersion: apiVersionOf(copies),
      kind: copies.kind,
      metadata,
      spec: input.spec,
    };
    this.#note(`${this.tenant}/${name} is made: ${this.#shareText(made)}`);
    this.copies.set(name, this.#versioned(made));
    this.writes++;
    return true;
  }

  update(copy: Workload): void {
    const { name, generation = 0 } = copy.metadata;
    const before = this.copies.get(name);
    assert.ok(before !== undefined);
    const isSame = JSON.stringify(before.spec) === JSON.stringify(copy.spec);
    const metadata = { ...copy.metadata, generation: generation + (isSame ? 0 : 1) };
    const [from, to] = [this.#shareText(before), this.#shareText(copy)];
    if (from !== to) this.#note(`${this.tenant}/${name} from ${from} to ${to}`);
    this.copies.set(name, this.#versioned({ ...copy, metadata }));
    this.writes++;
  }

  /**
   * Removes a copy: immediately if no cluster has synced it; otherwise when its cluster has removed
   * it.
   */
  remove(copy: Workload, nowMs: number): void {
    const { name, finalizers = [] } = copy.metadata;
    this.#note(`${this.tenant}/${name} is removed`);
    this.writes++;
    if (finalizers.length === 0) this.forget(name);
    else {
      const deletionTimestamp = new Date(nowMs).toISOString();
      const metadata = { ...copy.metadata, deletionTimestamp };
      this.copies.set(name, this.#versioned({ ...copy, metadata }));
    }
  }

  /** The copy is deleted. */
  forget(name: string): void {
    this.copies.delete(name);
    this.#version++;
  }

  /** The syncer adds its finalizer before it syncs the copy. */
  blockDisruption(copy: Workload): Workload {
    const cluster = clusterOf(copy);
    if (copy.metadata.finalizers?.length) return copy;
    const metadata = { ...copy.metadata, finalizers: [syncerFinalizer(cluster)] };
    const held = this.#versioned({ ...copy, metadata });
    this.copies.set(copy.metadata.name, held);
    return held;
  }

  report(copy: Workload, status: JsonObject): void {
    const { uid = "" } = copy.metadata;
    const text = JSON.stringify(status);
    if (this.#reports.get(uid) === text) return;
    this.#reports.set(uid, text);
    this.copies.set(copy.metadata.name, this.#versioned({ ...copy, status }));
  }

  say(status: object): void {
    const said = placedText(this.parent);
    this.parent = this.#versioned({ ...this.parent, status });
    const says = placedText(this.parent);
    if (said !== says) this.#note(`${this.name} says ${says}`);
    this.writes++;
  }

  #annotated(object: Workload, changes: Readonly<Record<string, string | null>>): Workload {
    const annotations: Record<string, string> = { ...object.metadata.annotations };
    let isChanged = false;
    for (const [name, value] of Object.entries(changes)) {
      if ((annotations[name] ?? null) === value) continue;
      isChanged = true;
      if (value === null) delete annotations[name];
      else annotations[name] = value;
    }
    if (!isChanged) return object;
    return this.#versioned({ ...object, metadata: { ...object.metadata, annotations } });
  }

  #shareText(copy: Workload): string {
    const { replicas, start } = this.kind.strategy.shareOf(copy);
    return start === undefined ? String(replicas) : `${start}+${replicas}`;
  }

  #versioned(object: Workload): Workload {
    const resourceVersion = String(this.#version++);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }
}

function placedText(workload: Workload): string {
  const placed = conditionsOf(workload).find(({ type }) => type === "Scheduled");
  return `${placed?.reason ?? "nothing"}: ${placed?.message ?? ""}`;
}

export function clusterOf({ metadata }: Workload): string {
  return assignedCluster(metadata.labels) ?? "";
}
