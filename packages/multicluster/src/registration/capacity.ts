/**
 * The capacity of a cluster: the sums over its nodes, for each resource. A node that has been
 * NotReady for as long as a cluster may be lost by default does not count: its Pods are replaced.
 */
import { formatNanos, type QuantityNanos, quantityNanos } from "@kcp-ts/machinery/shape";
import {
  type Client,
  type Condition,
  defineResource,
  findCondition,
  type KubernetesObject,
  type StringMap,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export interface Node extends KubernetesObject {
  readonly status?: {
    readonly capacity?: StringMap;
    readonly allocatable?: StringMap;
    readonly conditions?: readonly Condition[];
  };
}

export const nodes = defineResource<Node>(kinds.nodes);

export interface Capacity {
  readonly capacity: StringMap;
  readonly allocatable: StringMap;
}

export interface NodeCounts {
  readonly total: number;
  readonly notReady: number;
}

/** Kubelets that the cluster does not hear of may run their Pods or not, as in a lost cluster. */
export function areAllNotReady(nodes: NodeCounts | undefined): boolean {
  return nodes !== undefined && nodes.total > 0 && nodes.notReady === nodes.total;
}

const nodesPerSecondMax = 10;

/**
 * The interval between two lists of the nodes, which are read with probes. Nodes that died are
 * observed with the next probe, except in a large cluster, where their list costs more.
 */
export function nodesIntervalMs(nodes: NodeCounts | undefined, inventoryMs: number): number {
  if (nodes === undefined) return inventoryMs;
  const costMs = areAllNotReady(nodes) ? 0 : (nodes.total / nodesPerSecondMax) * 1000;
  return Math.min(inventoryMs, costMs);
}

export interface Inventory extends Capacity {
  readonly nodes: NodeCounts;
}

/** Names of resources are chosen by the cluster: resources beyond this number are ignored. */
export const resourceNamesMax = 64;
const notReadyToleranceMs = 60_000;

export async function readInventory(
  client: Client,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<Inventory> {
  const capacity = new Sums();
  const allocatable = new Sums();
  let [total, notReady] = [0, 0];
  for await (const { items } of client.resource(nodes).pages({ signal, retriesMax: 0 })) {
    for (const { status } of items) {
      total++;
      const ready = findCondition(status?.conditions, "Ready");
      if (ready !== undefined && ready.status !== "True") {
        notReady++;
        const sinceMs = Date.parse(ready.lastTransitionTime);
        if (!(nowMs - sinceMs < notReadyToleranceMs)) continue;
      }
      capacity.add(status?.capacity);
      allocatable.add(status?.allocatable);
    }
  }
  return {
    capacity: capacity.toMap(),
    allocatable: allocatable.toMap(),
    nodes: { total, notReady },
  };
}

/**
 * Adds quantities in the smallest unit that occurs, and prints them in the largest unit that is
 * exact.
 */
class Sums {
  readonly #sums = new Map<string, QuantityNanos>();

  add(amounts: StringMap | undefined): void {
    for (const [name, text] of Object.entries(amounts ?? {})) {
      const amount = quantityNanos(String(text));
      if (amount === undefined) continue;
      const sum = this.#sums.get(name);
      if (sum !== undefined) this.#sums.set(name, { ...sum, nanos: sum.nanos + amount.nanos });
      else if (this.#sums.size < resourceNamesMax) this.#sums.set(name, amount);
    }
  }

  toMap(): StringMap {
    const sorted = [...this.#sums].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, sum]) => [name, formatNanos(sum)]));
  }
}
