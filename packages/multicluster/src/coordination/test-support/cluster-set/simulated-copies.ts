/**
 * The simulated copies of a cluster, for each kind: a copy starts late, ends late, and reports its
 * status.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { SeededRandom } from "@kcp-ts/testkit";
import { specCount, type Workload } from "../../workload.ts";
import {
  amount,
  objectOf,
  type RollingLimits,
  type RollingPod,
  rollingLimitsOf,
  rollPods,
} from "../rolling-pods.ts";

export interface DeliveredSpec {
  readonly spec: JsonObject;
  readonly generation: number;
}

export abstract class SimulatedCopy {
  protected readonly random: SeededRandom;
  delivered: DeliveredSpec | undefined;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  receive({ spec, metadata: { generation = 0 } }: Workload): void {
    this.delivered = { spec, generation };
  }

  /** The Pod template of the delivered spec. */
  get template(): string {
    const template = this.delivered?.spec["template"];
    return JSON.stringify(template ?? null);
  }

  /** Some running Pods have another template, and are to be replaced. */
  get isMixed(): boolean {
    return false;
  }

  /** Starts nothing any more, and ends the running Pods. */
  stopAll(): void {
    this.delivered = undefined;
  }

  /** One step towards the delivered spec. */
  abstract step(nowMs: number, isBroken: boolean): void;
  /** Running Pods, in any state. */
  abstract get running(): number;
  abstract ready(nowMs: number): number;
  abstract status(nowMs: number): JsonObject;
  /** Removes all Pods, as after a power failure. */
  abstract breakPods(): void;
  /** Pods that did not become ready become ready from now on. */
  abstract repairPods(nowMs: number): void;

  protected startedMs(nowMs: number, isBroken: boolean): number {
    return isBroken ? Number.POSITIVE_INFINITY : nowMs + 500 + this.random.integer(6000);
  }

  protected count(field: string, otherwise: number): number {
    return this.delivered === undefined
      ? 0
      : specCount(this.delivered as Workload & DeliveredSpec, field, otherwise);
  }

  protected get generation(): number {
    return this.delivered?.generation ?? 0;
  }
}

/** Pods, each with the time at which it is ready and its template. */
abstract class PodSetCopy extends SimulatedCopy {
  protected pods: RollingPod[] = [];

  get running(): number {
    return this.pods.length;
  }

  override get isMixed(): boolean {
    return this.pods.some(({ template }) => template !== this.template);
  }

  protected get updated(): number {
    return this.pods.filter(({ template }) => template === this.template).length;
  }

  ready(nowMs: number): number {
    return this.pods.filter(({ readyAtMs }) => readyAtMs <= nowMs).length;
  }

  breakPods(): void {
    this.pods = [];
  }

  repairPods(nowMs: number): void {
    const mended = (readyAtMs: number) => (readyAtMs === Infinity ? nowMs + 1000 : readyAtMs);
    this.pods = this.pods.map((pod) => ({ ...pod, readyAtMs: mended(pod.readyAtMs) }));
  }
}

/** Identical replicas: of a Deployment, or of a custom kind. */
export class ReplicatedCopy extends PodSetCopy {
  readonly #field: string;

  constructor(random: SeededRandom, field = "replicas") {
    super(random);
    this.#field = field;
  }

  step(nowMs: number, isBroken: boolean): void {
    const replicas = this.count(this.#field, 1);
    const start = () => this.startedMs(nowMs, isBroken);
    const spec = this.delivered?.spec ?? {};
    const limits =
      this.#field === "replicas" ? rollingLimitsOf(spec, replicas) : withoutReadiness(replicas);
    this.pods = rollPods(this.pods, { template: this.template, limits, nowMs, start });
  }

  status(nowMs: number): JsonObject {
    const ready = this.ready(nowMs);
    return {
      observedGeneration: this.generation,
      replicas: this.running,
      updatedReplicas: this.updated,
      readyReplicas: ready,
      availableReplicas: ready,
    };
  }
}

/** Custom kinds give no guarantee: all Pods may stop before the first one starts. */
function withoutReadiness(replicas: number): RollingLimits {
  return { replicas, unavailable: replicas, surge: 0, isRecreate: false };
}

/**
 * Pods with ordinals, of a StatefulSet: the next starts when the last is ready; they are replaced
 * from the highest ordinal down to the partition.
 */
export class StatefulSetCopy extends SimulatedCopy {
  readonly ordinals = new Map<number, number>();
  readonly #templates = new Map<number, string>();
  #before: string | undefined;

  override receive(copy: Workload): void {
    const before = this.template;
    const isFirst = this.delivered === undefined;
    super.receive(copy);
    if (!isFirst && before !== this.template) this.#before = before;
  }

  step(nowMs: number, isBroken: boolean): void {
    const { start, end } = this.range;
    const surplus = [...this.ordinals.keys()].filter((one) => one < start || one >= end);
    const last = Math.max(...surplus);
    if (surplus.length > 0) {
      if (this.random.chance(0.4)) this.ordinals.delete(last);
      return;
    }
    for (let number = start; number < end; number++) {
      const readyAtMs = this.ordinals.get(number);
      if (readyAtMs === undefined) this.#start(number, this.startedMs(nowMs, isBroken));
      if (readyAtMs === undefined || readyAtMs > nowMs) return;
    }
    this.#roll();
  }

  #start(number: number, readyAtMs: number): void {
    const isKept = number < this.#partition;
    this.ordinals.set(number, readyAtMs);
    this.#templates.set(number, isKept ? (this.#before ?? this.template) : this.template);
  }

  /** When all Pods are ready, the highest one without the newest template stops. */
  #roll(): void {
    if (this.delivered === undefined) return;
    const { type } = objectOf(this.delivered.spec["updateStrategy"]);
    if (type === "OnDelete") return;
    const { end } = this.range;
    for (let number = end - 1; number >= this.#partition; number--) {
      if (this.#templates.get(number) === this.template) continue;
      this.ordinals.delete(number);
      return;
    }
  }

  /** The first ordinal that is to be replaced. */
  get #partition(): number {
    const { rollingUpdate } = objectOf(this.delivered?.spec["updateStrategy"]);
    return this.range.start + Number(objectOf(rollingUpdate)["partition"] ?? 0);
  }

  override get isMixed(): boolean {
    const { type } = objectOf(this.delivered?.spec["updateStrategy"]);
    if (type === "OnDelete") return false;
    for (let number = this.#partition; number < this.range.end; number++)
      if (this.ordinals.has(number) && this.#templates.get(number) !== this.template) return true;
    return false;
  }

  get range(): { readonly start: number; readonly end: number } {
    const start = startOf(this.delivered?.spec);
    return { start, end: start + this.count("replicas", 1) };
  }

  get running(): number {
    return this.ordinals.size;
  }

  ready(nowMs: number): number {
    return [...this.ordinals.values()].filter((one) => one <= nowMs).length;
  }

  status(nowMs: number): JsonObject {
    const ready = this.ready(nowMs);
    const isNewest = (number: number) => this.#templates.get(number) === this.template;
    return {
      observedGeneration: this.generation,
      replicas: this.running,
      readyReplicas: ready,
      availableReplicas: ready,
      updatedReplicas: [...this.ordinals.keys()].filter(isNewest).length,
    };
  }

  breakPods(): void {
    this.ordinals.clear();
  }

  repairPods(nowMs: number): void {
    for (const [number, one] of this.ordinals)
      if (one === Infinity) this.ordinals.set(number, nowMs + 1000);
  }
}

export function startOf(spec: JsonObject | undefined): number {
  const ordinals: JsonValue | undefined = spec?.["ordinals"];
  const start = isJsonObject(ordinals) ? (ordinals["start"] as JsonValue | undefined) : undefined;
  return typeof start === "number" ? start : 0;
}

/** A DaemonSet's Pods, one on each node. */
export class DaemonSetCopy extends PodSetCopy {
  readonly #nodes: number;

  constructor(random: SeededRandom) {
    super(random);
    this.#nodes = 1 + random.integer(3);
  }

  get nodes(): number {
    return this.#nodes;
  }

  step(nowMs: number, isBroken: boolean): void {
    const wanted = this.delivered === undefined ? 0 : this.#nodes;
    const start = () => this.startedMs(nowMs, isBroken);
    const { template } = this;
    if (this.isMixed && wanted > 0) {
      const { unavailable, surge } = daemonSetRollingLimits(this.delivered?.spec ?? {}, wanted);
      const limits = { replicas: wanted, unavailable, surge, isRecreate: false };
      this.pods = rollPods(this.pods, { template, limits, nowMs, start });
    } else if (this.pods.length > wanted) this.pods.length = wanted;
    else if (this.pods.length < wanted) this.pods.push({ template, readyAtMs: start() });
  }

  status(nowMs: number): JsonObject {
    const ready = this.ready(nowMs);
    return {
      observedGeneration: this.generation,
      currentNumberScheduled: this.running,
      desiredNumberScheduled: this.#nodes,
      updatedNumberScheduled: this.updated,
      numberMisscheduled: 0,
      numberReady: ready,
      numberAvailable: ready,
    };
  }
}

/** The limits of a DaemonSet's `updateStrategy`. */
export function daemonSetRollingLimits(spec: JsonObject, nodes: number) {
  const { rollingUpdate } = objectOf(spec["updateStrategy"]);
  const { maxUnavailable = 1, maxSurge = 0 } = objectOf(rollingUpdate);
  const surge = amount(maxSurge, nodes, Math.ceil);
  const unavailable = amount(maxUnavailable, nodes, Math.ceil);
  return { unavailable: Math.max(unavailable, surge === 0 ? 1 : 0), surge };
}

/** The work of a Job, which completes. */
export class JobCopy extends SimulatedCopy {
  #endsAtMs: number[] = [];
  #completedAtMs: number | undefined;
  succeeded = 0;

  step(nowMs: number, isBroken: boolean): void {
    if (this.delivered === undefined) {
      this.#endsAtMs = [];
      return;
    }
    const ended = this.#endsAtMs.filter((one) => one <= nowMs);
    this.succeeded += ended.length;
    this.#endsAtMs = this.#endsAtMs.filter((one) => one > nowMs);
    const left = this.count("completions", 1) - this.succeeded;
    const workers = Math.min(left, this.count("parallelism", 1));
    if (this.#endsAtMs.length > workers) this.#endsAtMs.length = Math.max(0, workers);
    while (this.#endsAtMs.length < workers)
      this.#endsAtMs.push(this.startedMs(nowMs, isBroken) + this.random.integer(20_000));
  }

  get isComplete(): boolean {
    return this.delivered !== undefined && this.succeeded >= this.count("completions", 1);
  }

  get running(): number {
    return this.#endsAtMs.length;
  }

  ready(): number {
    return this.running;
  }

  status(nowMs: number): JsonObject {
    const { succeeded, running: active } = this;
    this.#completedAtMs ??= this.isComplete ? nowMs : undefined;
    const lastTransitionTime = new Date(this.#completedAtMs ?? nowMs).toISOString();
    const complete = [{ type: "Complete", status: "True", lastTransitionTime }];
    return { active, succeeded, ...(this.isComplete ? { conditions: complete } : {}) };
  }

  breakPods(): void {
    this.#endsAtMs = [];
  }

  repairPods(nowMs: number): void {
    this.#endsAtMs = this.#endsAtMs.map((one) => (one === Infinity ? nowMs + 1000 : one));
  }
}

/** A CronJob's schedule: at random times a Job runs for a while. */
export class CronJobCopy extends SimulatedCopy {
  #endsAtMs: number | undefined;
  /** How many Jobs were started. */
  starts = 0;
  mayStart = true;

  step(nowMs: number): void {
    if (this.#endsAtMs !== undefined && this.#endsAtMs <= nowMs) this.#endsAtMs = undefined;
    // A running Job finishes though the schedule is removed.
    if (!this.mayStart || !this.isScheduling || this.#endsAtMs !== undefined) return;
    if (!this.random.chance(0.1)) return;
    this.#endsAtMs = nowMs + 1000 + this.random.integer(10_000);
    this.starts++;
  }

  get isScheduling(): boolean {
    return this.delivered !== undefined && this.delivered.spec["suspend"] !== true;
  }

  get running(): number {
    return this.#endsAtMs === undefined ? 0 : 1;
  }

  ready(): number {
    return this.isScheduling ? 1 : 0;
  }

  status(): JsonObject {
    return this.running === 0 ? {} : { active: [{ kind: "Job", name: `run-${this.starts}` }] };
  }

  breakPods(): void {
    this.#endsAtMs = undefined;
  }

  repairPods(): void {}
}

/** A bare Pod that runs forever. */
export class PodCopy extends SimulatedCopy {
  #readyAtMs: number | undefined;

  step(nowMs: number, isBroken: boolean): void {
    if (this.delivered === undefined) this.#readyAtMs = undefined;
    else this.#readyAtMs ??= this.startedMs(nowMs, isBroken);
  }

  get running(): number {
    return this.#readyAtMs === undefined ? 0 : 1;
  }

  ready(nowMs: number): number {
    return (this.#readyAtMs ?? Infinity) <= nowMs ? 1 : 0;
  }

  status(nowMs: number): JsonObject {
    const status = this.ready(nowMs) === 1 ? "True" : "False";
    return { phase: "Running", conditions: [{ type: "Ready", status }] };
  }

  breakPods(): void {
    this.#readyAtMs = undefined;
  }

  repairPods(nowMs: number): void {
    if (this.#readyAtMs === Infinity) this.#readyAtMs = nowMs + 1000;
  }
}
