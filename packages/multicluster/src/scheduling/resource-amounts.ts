/**
 * Amounts of resources for arithmetic: thousandths, as numbers. They are exact up to thousands of
 * terabytes, and a multiple of a power of two beyond that.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { formatNanos, quantityNanos } from "@kcp-ts/machinery/shape";
import type { StringMap } from "@kcp-ts/sdk";
import type { ResourceLimits } from "../api/index.ts";

export type ResourceAmounts = ReadonlyMap<string, number>;

export const noResources: ResourceAmounts = new Map();

/** The amounts of valid quantities; invalid quantities are omitted. */
export function parseResourceAmounts(
  quantities: ResourceLimits | StringMap | JsonValue | undefined,
): ResourceAmounts {
  const amounts = new Map<string, number>();
  if (quantities === undefined || !isJsonObject(quantities as JsonValue)) return amounts;
  for (const [name, quantity] of Object.entries(quantities as Record<string, JsonValue>)) {
    const amount = amountOf(quantity);
    if (amount !== undefined) amounts.set(name, amount);
  }
  return amounts;
}

/** Cache of parsed quantities: clusters use few different ones repeatedly. */
const known = new Map<string, number | undefined>();
const knownMax = 4096;

function amountOf(quantity: JsonValue): number | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  const text = String(quantity);
  if (known.has(text)) return known.get(text);
  const nanos = quantityNanos(text)?.nanos;
  // A fraction of a thousandth is rounded up, as kube-scheduler rounds requests.
  const amount = nanos === undefined ? undefined : Number((nanos + 999_999n) / 1_000_000n);
  if (known.size >= knownMax) known.clear();
  known.set(text, amount);
  return amount;
}

const printed = { binary: new Map<number, string>(), decimal: new Map<number, string>() };

export function formatQuantity(name: string, amount: number): string {
  const isBinary = binaries.test(name);
  const texts = isBinary ? printed.binary : printed.decimal;
  let text = texts.get(amount);
  if (text === undefined) {
    text = formatNanos({ nanos: BigInt(Math.round(amount)) * 1_000_000n, isBinary });
    if (texts.size >= knownMax) texts.clear();
    texts.set(amount, text);
  }
  return text;
}

/** Resources that are formatted with binary suffixes. */
const binaries = /memory|storage|hugepages/;

/** The formatted amounts, sorted by name. */
export function formatResourceAmounts(amounts: ResourceAmounts): StringMap {
  const sorted = [...amounts].filter(([, amount]) => amount > 0).sort(byName);
  return Object.fromEntries(sorted.map(([name, amount]) => [name, formatQuantity(name, amount)]));
}

export function multipliedBy(amounts: ResourceAmounts, count: number): ResourceAmounts {
  return new Map([...amounts].map(([name, amount]) => [name, amount * count]));
}

export function addTo(sum: Map<string, number>, amounts: ResourceAmounts, sign: 1 | -1 = 1): void {
  for (const [name, amount] of amounts) {
    const next = (sum.get(name) ?? 0) + sign * amount;
    if (next === 0) sum.delete(name);
    else sum.set(name, next);
  }
}

/** The maximum of each resource. */
export function maxOfEach(one: ResourceAmounts, other: ResourceAmounts): ResourceAmounts {
  const most = new Map(one);
  for (const [name, amount] of other) most.set(name, Math.max(amount, most.get(name) ?? 0));
  return most;
}

function byName([one]: readonly [string, number], [other]: readonly [string, number]): number {
  return one < other ? -1 : 1;
}
