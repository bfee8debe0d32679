/**
 * The load of every node, updated as Pods change. A binding counts from the scheduler's decision
 * on, not from its watch event.
 */
import type { Pod } from "../api/index.ts";
import { type Load, requestsOf } from "./node-fit.ts";

interface Placed {
  readonly node: string;
  readonly demand: Load;
}

export class NodeLoads {
  readonly #loads = new Map<string, Load>();
  readonly #placed = new Map<string, Placed>();

  of(node: string): Load {
    return this.#loads.get(node) ?? nothing;
  }

  /** Updates the load from a Pod; completed Pods use no capacity. */
  note(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    const { nodeName = "" } = pod.spec;
    const isOver = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
    if (isOver) this.remove(uid);
    else if (nodeName !== "") this.place(uid, nodeName, requestsOf(pod));
  }

  place(uid: string, node: string, demand: Load): void {
    if (this.#placed.get(uid)?.node === node) return;
    this.remove(uid);
    this.#placed.set(uid, { node, demand });
    this.#add(node, demand, 1);
  }

  remove(uid: string): void {
    const placed = this.#placed.get(uid);
    if (placed === undefined) return;
    this.#placed.delete(uid);
    this.#add(placed.node, placed.demand, -1);
  }

  #add(node: string, demand: Load, sign: 1 | -1): void {
    const load = this.#loads.get(node) ?? { cpu: 0, memory: 0, pods: 0 };
    load.cpu += sign * demand.cpu;
    load.memory += sign * demand.memory;
    load.pods += sign * demand.pods;
    this.#loads.set(node, load);
  }
}

const nothing: Load = { cpu: 0, memory: 0, pods: 0 };
