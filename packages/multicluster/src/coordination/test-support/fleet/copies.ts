/** What a pretend cluster makes of the parts that it was told of, kind by kind: it starts late, ends late, and says how far it is. */
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
  told: DeliveredSpec | undefined;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  receive({ spec, metadata: { generation = 0 } }: Workload): void {
    this.told = { spec, generation };
  }

  /** What it is told to make Pods from. */
  get template(): string {
    const template = this.told?.spec["template"];
    return JSON.stringify(template ?? null);
  }

  /** Some of what runs is of another template, and to be replaced. */
  get isMixed(): boolean {
    return false;
  }

  /** Nothing is started any more, and what runs ends. */
  halt(): void {
    this.told = undefined;
  }

  /** One step towards what it was told. */
  abstract step(nowMs: number, isBroken: boolean): void;
  /** How many run, in whatever state. */
  abstract get running(): number;
  abstract ready(nowMs: number): number;
  abstract status(nowMs: number): JsonObject;
  /** All that ran is gone, as after a power cut. */
  abstract burn(): void;
  /** What did not become ready does so from now on. */
  abstract mend(nowMs: number): void;

  protected startedMs(nowMs: number, isBroken: boolean): number {
    return isBroken ? Number.POSITIVE_INFINITY : nowMs + 500 + this.random.integer(6000);
  }

  protected count(field: string, otherwise: number): number {
    return this.told === undefined
      ? 0
      : specCount(this.told as Workload & DeliveredSpec, field, otherwise);
  }

  protected get generation(): number {
    return this.told?.generation ?? 0;
  }
}

/** Pods of which two things are known: when each is ready, and what it was made from. */
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

  burn(): void {
    this.pods = [];
  }

  mend(nowMs: number): void {
    const mended = (readyAtMs: number) => (readyAtMs === Infinity ? nowMs + 1000 : readyAtMs);
    this.pods = this.pods.map((pod) => ({ ...pod, readyAtMs: mended(pod.readyAtMs) }));
  }
}

/** Replicas that are all alike: of a Deployment, or of a kind of somebody's own. */
export class ReplicatedCopy extends PodSetCopy {
  readonly #field: string;

  constructor(random: SeededRandom, field = "replicas") {
    super(random);
    this.#field = field;
  }

  step(nowMs: number, isBroken: boolean): void {
    const replicas = this.count(this.#field, 1);
    const start = () => this.startedMs(nowMs, isBroken);
    const spec = this.told?.spec ?? {};
    const bounds =
      this.#field === "replicas" ? rollingLimitsOf(spec, replicas) : withoutReadiness(replicas);
    this.pods = rollPods(this.pods, { template: this.template, bounds, nowMs, start });
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

/** Nobody promises anything of kinds of people's own: all may be stopped before the first is started. */
function withoutReadiness(replicas: number): RollingLimits {
  return { replicas, unavailable: replicas, surge: 0, isRecreate: false };
}

/** Pods with numbers, of a StatefulSet: one after the other, the next when the last is ready; replaced from the highest down to the partition. */
export class StatefulSetCopy extends SimulatedCopy {
  readonly numbers = new Map<number, number>();
  readonly #templates = new Map<number, string>();
  #before: string | undefined;

  override receive(part: Workload): void {
    const before = this.template;
    const isFirst = this.told === undefined;
    super.receive(part);
    if (!isFirst && before !== this.template) this.#before = before;
  }

  step(nowMs: number, isBroken: boolean): void {
    const { start, end } = this.range;
    const surplus = [...this.numbers.keys()].filter((one) => one < start || one >= end);
    const last = Math.max(...surplus);
    if (surplus.length > 0) {
      if (this.random.chance(0.4)) this.numbers.delete(last);
      return;
    }
    for (let number = start; number < end; number++) {
      const readyAtMs = this.numbers.get(number);
      if (readyAtMs === undefined) this.#start(number, this.startedMs(nowMs, isBroken));
      if (readyAtMs === undefined || readyAtMs > nowMs) return;
    }
    this.#roll();
  }

  #start(number: number, readyAtMs: number): void {
    const isKept = number < this.#partition;
    this.numbers.set(number, readyAtMs);
    this.#templates.set(number, isKept ? (this.#before ?? this.template) : this.template);
  }

  /** All are ready: the highest that is not of the newest template is stopped. */
  #roll(): void {
    if (this.told === undefined) return;
    const { type } = objectOf(this.told.spec["updateStrategy"]);
    if (type === "OnDelete") return;
    const { end } = this.range;
    for (let number = end - 1; number >= this.#partition; number--) {
      if (this.#templates.get(number) === this.template) continue;
      this.numbers.delete(number);
      return;
    }
  }

  /** The first number that is to be replaced. */
  get #partition(): number {
    const { rollingUpdate } = objectOf(this.told?.spec["updateStrategy"]);
    return this.range.start + Number(objectOf(rollingUpdate)["partition"] ?? 0);
  }

  override get isMixed(): boolean {
    const { type } = objectOf(this.told?.spec["updateStrategy"]);
    if (type === "OnDelete") return false;
    for (let number = this.#partition; number < this.range.end; number++)
      if (this.numbers.has(number) && this.#templates.get(number) !== this.template) return true;
    return false;
  }

  get range(): { readonly start: number; readonly end: number } {
    const start = startOf(this.told?.spec);
    return { start, end: start + this.count("replicas", 1) };
  }

  get running(): number {
    return this.numbers.size;
  }

  ready(nowMs: number): number {
    return [...this.numbers.values()].filter((one) => one <= nowMs).length;
  }

  status(nowMs: number): JsonObject {
    const ready = this.ready(nowMs);
    const isNewest = (number: number) => this.#templates.get(number) === this.template;
    return {
      observedGeneration: this.generation,
      replicas: this.running,
      readyReplicas: ready,
      availableReplicas: ready,
      updatedReplicas: [...this.numbers.keys()].filter(isNewest).length,
    };
  }

  burn(): void {
    this.numbers.clear();
  }

  mend(nowMs: number): void {
    for (const [number, one] of this.numbers)
      if (one === Infinity) this.numbers.set(number, nowMs + 1000);
  }
}

export function startOf(spec: JsonObject | undefined): number {
  const ordinals: JsonValue | undefined = spec?.["ordinals"];
  const start = isJsonObject(ordinals) ? (ordinals["start"] as JsonValue | undefined) : undefined;
  return typeof start === "number" ? start : 0;
}

/** One on each of its nodes, of a DaemonSet. */
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
    const wanted = this.told === undefined ? 0 : this.#nodes;
    const start = () => this.startedMs(nowMs, isBroken);
    const { template } = this;
    if (this.isMixed && wanted > 0) {
      const { unavailable, surge } = daemonSetRollingLimits(this.told?.spec ?? {}, wanted);
      const bounds = { replicas: wanted, unavailable, surge, isRecreate: false };
      this.pods = rollPods(this.pods, { template, bounds, nowMs, start });
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

/** By `updateStrategy` of a DaemonSet. */
export function daemonSetRollingLimits(spec: JsonObject, nodes: number) {
  const { rollingUpdate } = objectOf(spec["updateStrategy"]);
  const { maxUnavailable = 1, maxSurge = 0 } = objectOf(rollingUpdate);
  const surge = amount(maxSurge, nodes, Math.ceil);
  const unavailable = amount(maxUnavailable, nodes, Math.ceil);
  return { unavailable: Math.max(unavailable, surge === 0 ? 1 : 0), surge };
}

/** Work that comes to an end: of a Job. */
export class JobCopy extends SimulatedCopy {
  #endsAtMs: number[] = [];
  #completedAtMs: number | undefined;
  succeeded = 0;

  step(nowMs: number, isBroken: boolean): void {
    if (this.told === undefined) {
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
    return this.told !== undefined && this.succeeded >= this.count("completions", 1);
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

  burn(): void {
    this.#endsAtMs = [];
  }

  mend(nowMs: number): void {
    this.#endsAtMs = this.#endsAtMs.map((one) => (one === Infinity ? nowMs + 1000 : one));
  }
}

/** Keeps a schedule: now and then something runs for a while. */
export class CronJobCopy extends SimulatedCopy {
  #endsAtMs: number | undefined;
  /** How often something was started. */
  starts = 0;
  mayStart = true;

  step(nowMs: number): void {
    if (this.#endsAtMs !== undefined && this.#endsAtMs <= nowMs) this.#endsAtMs = undefined;
    // What runs ends though the schedule is gone.
    if (!this.mayStart || !this.keeps || this.#endsAtMs !== undefined) return;
    if (!this.random.chance(0.1)) return;
    this.#endsAtMs = nowMs + 1000 + this.random.integer(10_000);
    this.starts++;
  }

  get keeps(): boolean {
    return this.told !== undefined && this.told.spec["suspend"] !== true;
  }

  get running(): number {
    return this.#endsAtMs === undefined ? 0 : 1;
  }

  ready(): number {
    return this.keeps ? 1 : 0;
  }

  status(): JsonObject {
    return this.running === 0 ? {} : { active: [{ kind: "Job", name: `run-${this.starts}` }] };
  }

  burn(): void {
    this.#endsAtMs = undefined;
  }

  mend(): void {}
}

/** A bare Pod that is to run for ever. */
export class PodCopy extends SimulatedCopy {
  #readyAtMs: number | undefined;

  step(nowMs: number, isBroken: boolean): void {
    if (this.told === undefined) this.#readyAtMs = undefined;
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

  burn(): void {
    this.#readyAtMs = undefined;
  }

  mend(nowMs: number): void {
    if (this.#readyAtMs === Infinity) this.#readyAtMs = nowMs + 1000;
  }
}
