/** The capacity of a cluster: the sums over its nodes, for each resource. */
import { formatNanos, type QuantityNanos, quantityNanos } from "@kcp-ts/machinery/shape";
import { type Client, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export interface Node extends KubernetesObject {
  readonly status?: { readonly capacity?: StringMap; readonly allocatable?: StringMap };
}

export const nodes = defineResource<Node>(kinds.nodes);

export interface Capacity {
  readonly capacity: StringMap;
  readonly allocatable: StringMap;
}

/** Names of resources are chosen by the cluster: resources beyond this number are ignored. */
export const resourceNamesMax = 64;

export async function readCapacity(client: Client, signal: AbortSignal): Promise<Capacity> {
  const capacity = new Sums();
  const allocatable = new Sums();
  for await (const { items } of client.resource(nodes).pages({ signal, retriesMax: 0 })) {
    for (const { status } of items) {
      capacity.add(status?.capacity);
      allocatable.add(status?.allocatable);
    }
  }
  return { capacity: capacity.toMap(), allocatable: allocatable.toMap() };
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
