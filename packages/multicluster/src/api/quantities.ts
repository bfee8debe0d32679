/**
 * Quantities as numbers that can be added, and back: in nanos, printed in the largest unit that is
 * exact.
 */
import { parseQuantity } from "@kcp-ts/machinery/shape";

export interface Nanos {
  readonly nanos: bigint;
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

/**
 * The value of a quantity as users and nodes write it; undefined if the quantity is invalid or
 * negative.
 */
export function nanosOf(text: string): Nanos | undefined {
  const parsed = parseQuantity(text);
  if ("error" in parsed) return undefined;
  const [, digits, suffix = ""] = /^(\d+)([A-Za-z]*)$/.exec(parsed.canonical) ?? [];
  const factor = Object.hasOwn(factors, suffix) ? factors[suffix] : undefined;
  if (digits === undefined || factor === undefined) return undefined;
  return { nanos: BigInt(digits) * factor, isBinary: /i$/.test(suffix) };
}

export function formatNanos({ nanos, isBinary }: Nanos): string {
  const workload = nanos % nano === 0n;
  const text = workload ? String(nanos / nano) : `${nanos}n`;
  // A sum of binary amounts is printed as a binary amount.
  const parsed = parseQuantity(isBinary && workload ? binary(nanos / nano) : text);
  return "canonical" in parsed ? parsed.canonical : text;
}

function binary(value: bigint): string {
  return value % 1024n === 0n ? `${value / 1024n}Ki` : String(value);
}
