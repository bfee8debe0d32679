/** One workload of a tenant, as an API keeps it: the whole, its parts with versions and finalizers, and claims of its numbers. */
import assert from "node:assert/strict";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { apiVersionOf, type ObjectInput } from "@kcp-ts/sdk";
import { assignedCluster, syncerFinalizer } from "../../../api/index.ts";
import { conditionsOf, type Workload } from "../../workload.ts";
import type { SimulatedClaim } from "./claims.ts";
import type { SimulatedKind } from "./fleet-kinds.ts";

export interface ObservedWorkload {
  readonly parent: Workload;
  readonly parts: readonly Workload[];
  readonly related: readonly Workload[];
}

export class SimulatedWorkload {
  readonly tenant: string;
  readonly kind: SimulatedKind;
  readonly isOnce: boolean;
  readonly parts = new Map<string, Workload>();
  readonly claims = new Map<number, SimulatedClaim>();
  parent: Workload;
  writes = 0;
  /** What was asked for, and when last. */
  readonly askedAtMs = new Map<number, number>();
  readonly #note: (text: string) => void;
  #version = 1;
  /** What was reported last, by uid. */
  readonly #reports = new Map<string, string>();

  constructor(
    facts: Pick<SimulatedWorkload, "tenant" | "kind" | "isOnce">,
    spec: JsonObject,
    note: (text: string) => void,
  ) {
    this.tenant = facts.tenant;
    this.kind = facts.kind;
    this.isOnce = facts.isOnce;
    const { wholes } = facts.kind.strategy;
    const metadata = {
      name: facts.kind.name,
      namespace: "demo",
      uid: `${facts.tenant}-${facts.kind.name}`,
      generation: 1,
    };
    this.#note = note;
    this.parent = this.#versioned({
      apiVersion: apiVersionOf(wholes),
      kind: wholes.kind,
      metadata,
      spec,
    });
  }

  /** Another one after every change. */
  get version(): number {
    return this.#version;
  }

  get name(): string {
    return `${this.tenant}/${this.kind.name}`;
  }

  asked(parent: Workload = this.parent): number {
    return this.kind.strategy.asked(parent);
  }

  seen(): ObservedWorkload {
    const related = [...this.claims.values()].map((claim) => claim.object(this.kind.name));
    return { parent: this.parent, parts: [...this.parts.values()], related };
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

  annotatePart(name: string, changes: Readonly<Record<string, string | null>>): void {
    const part = this.parts.get(name);
    if (part !== undefined) this.parts.set(name, this.#annotated(part, changes));
  }

  partsIn(cluster: string): readonly Workload[] {
    return [...this.parts.values()].filter((part) => clusterOf(part) === cluster);
  }

  isCurrent(part: Workload): boolean {
    const current = this.parts.get(part.metadata.name);
    return current?.metadata.resourceVersion === part.metadata.resourceVersion;
  }

  create(input: ObjectInput<Workload>): boolean {
    const { name = "" } = input.metadata;
    if (this.parts.has(name)) return false;
    const { parts } = this.kind.strategy;
    const metadata = { ...input.metadata, name, uid: `uid-${this.#version}`, generation: 1 };
    const made = { apiVersion: apiVersionOf(parts), kind: parts.kind, metadata, spec: input.spec };
    this.#note(`${this.tenant}/${name} is made: ${this.#shareText(made)}`);
    this.parts.set(name, this.#versioned(made));
    this.writes++;
    return true;
  }

  update(part: Workload): void {
    const { name, generation = 0 } = part.metadata;
    const before = this.parts.get(name);
    assert.ok(before !== undefined);
    const isSame = JSON.stringify(before.spec) === JSON.stringify(part.spec);
    const metadata = { ...part.metadata, generation: generation + (isSame ? 0 : 1) };
    const [from, to] = [this.#shareText(before), this.#shareText(part)];
    if (from !== to) this.#note(`${this.tenant}/${name} from ${from} to ${to}`);
    this.parts.set(name, this.#versioned({ ...part, metadata }));
    this.writes++;
  }

  /** Gone at once if nobody has made anything of it yet; otherwise when whoever did is done with it. */
  remove(part: Workload, nowMs: number): void {
    const { name, finalizers = [] } = part.metadata;
    this.#note(`${this.tenant}/${name} is removed`);
    this.writes++;
    if (finalizers.length === 0) this.forget(name);
    else {
      const deletionTimestamp = new Date(nowMs).toISOString();
      const metadata = { ...part.metadata, deletionTimestamp };
      this.parts.set(name, this.#versioned({ ...part, metadata }));
    }
  }

  /** It is gone. */
  forget(name: string): void {
    this.parts.delete(name);
    this.#version++;
  }

  /** A syncer says that it is about to make something of it. */
  hold(part: Workload): Workload {
    const cluster = clusterOf(part);
    if (part.metadata.finalizers?.length) return part;
    const metadata = { ...part.metadata, finalizers: [syncerFinalizer(cluster)] };
    const held = this.#versioned({ ...part, metadata });
    this.parts.set(part.metadata.name, held);
    return held;
  }

  report(part: Workload, status: JsonObject): void {
    const { uid = "" } = part.metadata;
    const text = JSON.stringify(status);
    if (this.#reports.get(uid) === text) return;
    this.#reports.set(uid, text);
    this.parts.set(part.metadata.name, this.#versioned({ ...part, status }));
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

  #shareText(part: Workload): string {
    const { replicas, start } = this.kind.strategy.shareOf(part);
    return start === undefined ? String(replicas) : `${start}+${replicas}`;
  }

  #versioned(object: Workload): Workload {
    const resourceVersion = String(this.#version++);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }
}

function placedText(whole: Workload): string {
  const placed = conditionsOf(whole).find(({ type }) => type === "Placed");
  return `${placed?.reason ?? "nothing"}: ${placed?.message ?? ""}`;
}

export function clusterOf({ metadata }: Workload): string {
  return assignedCluster(metadata.labels) ?? "";
}
