/** Amounts of resources by name: requests, limits, and what a quota has used. */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { formatNanos, type QuantityNanos, quantityNanos } from "../shape/index.ts";

export type Amounts = ReadonlyMap<string, QuantityNanos>;
export type MutableAmounts = Map<string, QuantityNanos>;

export const zero: QuantityNanos = { nanos: 0n, isBinary: false };

export function countAmount(count: number): QuantityNanos {
  return { nanos: BigInt(count) * 1_000_000_000n, isBinary: false };
}

/** Zero where the text is no quantity: validation has refused such objects. */
export function parseAmount(text: JsonValue | undefined): QuantityNanos {
  return (text === undefined ? undefined : quantityNanos(String(text))) ?? zero;
}

export function parseAmounts(list: JsonValue | undefined): MutableAmounts {
  const amounts: MutableAmounts = new Map();
  for (const [name, text] of Object.entries(isJsonObject(list) ? list : {}))
    amounts.set(name, parseAmount(text));
  return amounts;
}

export function formatAmount(amount: QuantityNanos): string {
  return formatNanos(amount);
}

/** The sum has the suffixes of the first amount that is not zero. */
export function plus(a: QuantityNanos, b: QuantityNanos): QuantityNanos {
  return { nanos: a.nanos + b.nanos, isBinary: a.nanos === 0n ? b.isBinary : a.isBinary };
}

/** Not below zero. */
export function minus(a: QuantityNanos, b: QuantityNanos): QuantityNanos {
  return { ...a, nanos: a.nanos > b.nanos ? a.nanos - b.nanos : 0n };
}

export function addAmounts(sum: MutableAmounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) sum.set(name, plus(sum.get(name) ?? zero, amount));
}

export function raiseAmounts(peak: MutableAmounts, amounts: Amounts): void {
  for (const [name, amount] of amounts)
    if (amount.nanos > (peak.get(name)?.nanos ?? -1n)) peak.set(name, amount);
}

export function objectAt(object: JsonObject | undefined, name: string): JsonObject {
  const value = object?.[name];
  return isJsonObject(value) ? value : {};
}

export function objectsAt(object: JsonObject, name: string): readonly JsonObject[] {
  const value = object[name];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
