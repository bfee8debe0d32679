/** What a cluster has: the sums over its nodes, resource by resource. */
import { parseQuantity } from "@kcp-ts/machinery/shape";
import { type Client, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";

export interface Node extends KubernetesObject {
  readonly status?: {
    readonly capacity?: StringMap;
    readonly allocatable?: StringMap;
  };
}

export const nodes = defineResource<Node>({
  group: "",
  version: "v1",
  resource: "nodes",
  kind: "Node",
  namespaced: false,
});

export interface Capacity {
  readonly capacity: StringMap;
  readonly allocatable: StringMap;
}

/** A resource is a name that a cluster chose: more of them than this are left out. */
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

/** Adds up in the smallest unit that appears, and prints in the largest one that is exact. */
class Sums {
  readonly #sums = new Map<string, Sum>();

  add(amounts: StringMap | undefined): void {
    for (const [name, text] of Object.entries(amounts ?? {})) {
      const amount = nanosOf(String(text));
      if (amount === undefined) continue;
      const sum = this.#sums.get(name);
      if (sum !== undefined) sum.nanos += amount.nanos;
      else if (this.#sums.size < resourceNamesMax) this.#sums.set(name, amount);
    }
  }

  toMap(): StringMap {
    const sorted = [...this.#sums].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, sum]) => [name, formatSum(sum)]));
  }
}

interface Sum {
  nanos: bigint;
  readonly isBinary: boolean;
}

const nano = 1_000_000_000n;
const factors: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1000n,
  m: 1_000_000n,
  "": nano,
  k: nano * 1000n,
  M: nano * 1_000_000n,
  G: nano * 10n ** 9n,
  T: nano * 10n ** 12n,
  P: nano * 10n ** 15n,
  E: nano * 10n ** 18n,
  Ki: nano << 10n,
  Mi: nano << 20n,
  Gi: nano << 30n,
  Ti: nano << 40n,
  Pi: nano << 50n,
  Ei: nano << 60n,
};

/** Of a quantity as nodes write it; undefined for what is none, or is below zero. */
function nanosOf(text: string): Sum | undefined {
  const parsed = parseQuantity(text);
  if ("error" in parsed) return undefined;
  const [, digits, suffix = ""] = /^(\d+)([A-Za-z]*)$/.exec(parsed.canonical) ?? [];
  const factor = Object.hasOwn(factors, suffix) ? factors[suffix] : undefined;
  if (digits === undefined || factor === undefined) return undefined;
  return { nanos: BigInt(digits) * factor, isBinary: /i$/.test(suffix) };
}

function formatSum({ nanos, isBinary }: Sum): string {
  const whole = nanos % nano === 0n;
  const text = whole ? String(nanos / nano) : `${nanos}n`;
  // A sum of binary amounts is a binary amount.
  const parsed = parseQuantity(isBinary && whole ? binary(nanos / nano) : text);
  return "canonical" in parsed ? parsed.canonical : text;
}

function binary(value: bigint): string {
  return value % 1024n === 0n ? `${value / 1024n}Ki` : String(value);
}
