/** A pretend cluster: it has received some version of its part, runs Pods for it, and can say how far it is. */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { SeededRandom } from "@kcp-ts/testkit";
import { type Deployment, type DeploymentStatus, replicasOf } from "../deployment.ts";
import { type RollingLimits, type RollingPod, rollingLimitsOf, rollPods } from "./rolling-pods.ts";

export class SimulatedCluster {
  readonly name: string;
  isUp = true;
  /** What is started does not become ready: no image, no room. */
  isBroken = false;
  /** Of its agent, where something may run once at most. */
  leaseUntilMs = Number.NEGATIVE_INFINITY;
  /** The agent stops when its lease is over, but not in that very moment. */
  stopsAtMs = Number.POSITIVE_INFINITY;
  readonly #random: SeededRandom;
  #received:
    | { readonly bounds: RollingLimits; readonly template: string; readonly generation: number }
    | undefined;
  #pods: RollingPod[] = [];

  constructor(name: string, random: SeededRandom) {
    this.name = name;
    this.#random = random;
  }

  /** All Pods are gone, as after a power cut. */
  burn(): void {
    this.#pods = [];
  }

  receive(part: Deployment | undefined): void {
    if (part === undefined) {
      this.#received = undefined;
      this.#pods = [];
      return;
    }
    const template = JSON.stringify((part.spec as Record<string, JsonValue>)["template"]);
    const { generation = 0 } = part.metadata;
    this.#received = { bounds: rollingLimitsOf(part.spec, replicasOf(part)), template, generation };
  }

  tick(nowMs: number): void {
    if (this.#received === undefined) return;
    const { bounds, template } = this.#received;
    const start = () => {
      const delayMs = 500 + this.#random.integer(8000);
      return this.isBroken ? Number.POSITIVE_INFINITY : nowMs + delayMs;
    };
    this.#pods = rollPods(this.#pods, { template, bounds, nowMs, start });
  }

  get running(): number {
    return this.#pods.length;
  }

  /** Nothing runs, and nothing is started before it is told anew. */
  halt(): void {
    this.#received = undefined;
    this.#pods = [];
  }

  mend(nowMs: number): void {
    this.isBroken = false;
    this.#pods = this.#pods.map((pod) =>
      pod.readyAtMs === Number.POSITIVE_INFINITY ? { ...pod, readyAtMs: nowMs + 1000 } : pod,
    );
  }

  ready(nowMs: number): number {
    return this.#pods.filter(({ readyAtMs }) => readyAtMs <= nowMs).length;
  }

  get isRolling(): boolean {
    return this.#pods.some(({ template }) => template !== this.#received?.template);
  }

  /** Undefined when it has nothing to report on. */
  status(nowMs: number): DeploymentStatus | undefined {
    if (this.#received === undefined) return undefined;
    const { generation, template } = this.#received;
    const ready = this.ready(nowMs);
    return {
      observedGeneration: generation,
      replicas: this.#pods.length,
      updatedReplicas: this.#pods.filter((pod) => pod.template === template).length,
      readyReplicas: ready,
      availableReplicas: ready,
      unavailableReplicas: this.#pods.length - ready,
    };
  }
}
