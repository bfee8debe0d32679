/**
 * Quantities as numbers: cores, bytes, counts. Precise enough to add and compare the capacity of a
 * simulated node.
 */
const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Zero for an absent or invalid quantity. */
export function quantityOf(quantity: string | number | undefined): number {
  if (quantity === undefined) return 0;
  const [, digits = "", suffix = ""] =
    /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(String(quantity)) ?? [];
  const factor = Object.hasOwn(factors, suffix) ? (factors[suffix] as number) : 0;
  return digits === "" ? 0 : Number(digits) * factor;
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
