/** A pretend cluster: it has received some version of its part, runs Pods for it, and can say how far it is. */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { SeededRandom } from "@kcp-ts/testkit";
import { type Deployment, type DeploymentStatus, replicasOf } from "../deployment.ts";

interface Pod {
  readonly template: string;
  readonly readyAtMs: number;
}

export class Cluster {
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
    | { readonly replicas: number; readonly template: string; readonly generation: number }
    | undefined;
  #pods: Pod[] = [];

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
    this.#received = { replicas: replicasOf(part), template, generation };
  }

  tick(nowMs: number): void {
    if (this.#received === undefined) return;
    const { replicas, template } = this.#received;
    const worst = (pod: Pod) =>
      (pod.readyAtMs > nowMs ? 0 : 2) + (pod.template === template ? 1 : 0);
    this.#pods.sort((a, b) => worst(a) - worst(b));
    while (this.#pods.length > replicas) this.#pods.shift();
    // A rollout: old Pods make room for new ones, a quarter of them at a time.
    const allowed = Math.max(1, Math.floor(replicas / 4));
    const old = this.#pods.filter((pod) => pod.template !== template);
    let mayStop = allowed - this.#pods.filter((pod) => pod.readyAtMs > nowMs).length;
    for (const pod of old) {
      if (mayStop-- <= 0) break;
      this.#pods.splice(this.#pods.indexOf(pod), 1);
    }
    while (this.#pods.length < replicas) {
      const delayMs = 500 + this.#random.integer(8000);
      const readyAtMs = this.isBroken ? Number.POSITIVE_INFINITY : nowMs + delayMs;
      this.#pods.push({ template, readyAtMs });
    }
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
