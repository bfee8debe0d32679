/**
 * A simulated cluster: it has received some version of its copy, runs Pods for it, and reports its
 * status.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { SeededRandom } from "@kcp-ts/testkit";
import { type Deployment, type DeploymentStatus, replicasOf } from "../deployment.ts";
import { type RollingLimits, type RollingPod, rollingLimitsOf, rollPods } from "./rolling-pods.ts";

export class SimulatedCluster {
  readonly name: string;
  isUp = true;
  /** Started Pods do not become ready: the image or the capacity is missing. */
  isBroken = false;
  /** The end of the agent's lease, for StopBeforeStart workloads. */
  leaseUntilMs = Number.NEGATIVE_INFINITY;
  /** The time at which the agent stops Pods, somewhat after the end of its lease. */
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

  /** Removes all Pods, as after a power failure. */
  breakPods(): void {
    this.#pods = [];
  }

  receive(copy: Deployment | undefined): void {
    if (copy === undefined) {
      this.#received = undefined;
      this.#pods = [];
      return;
    }
    const template = JSON.stringify((copy.spec as Record<string, JsonValue>)["template"]);
    const { generation = 0 } = copy.metadata;
    this.#received = { bounds: rollingLimitsOf(copy.spec, replicasOf(copy)), template, generation };
  }

  tick(nowMs: number): void {
    if (this.#received === undefined) return;
    const { bounds, template } = this.#received;
    const start = () => {
      const delayMs = 500 + this.#random.integer(8000);
      return this.isBroken ? Number.POSITIVE_INFINITY : nowMs + delayMs;
    };
    this.#pods = rollPods(this.#pods, { template, limits: bounds, nowMs, start });
  }

  get running(): number {
    return this.#pods.length;
  }

  /** Stops all Pods, and starts none before the next delivery. */
  stopAll(): void {
    this.#received = undefined;
    this.#pods = [];
  }

  repairPods(nowMs: number): void {
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

  /** The reported status; undefined without a delivered copy. */
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
