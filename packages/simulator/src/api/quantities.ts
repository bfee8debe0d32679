/**
 * Quantities as numbers: cores, bytes, counts. Precise enough to add and compare the capacity of a
 * simulated node.
 */
import { quantityNanos } from "@kcp-ts/machinery/shape";

/** Zero for an absent or invalid quantity. */
export function quantityOf(quantity: string | number | undefined): number {
  return Number(quantityNanos(String(quantity))?.nanos ?? 0n) / 1e9;
}

/** `500ms`, `2s`, `1m30s`, `1h`; undefined for any other text. */
export function durationMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    total += Number(amount) * (unitMs[unit as string] as number);
  return total;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
