/** Quantities of Kubernetes as numbers, and numbers for people. */
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
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** Undefined for what is no quantity. */
export function parseQuantity(text: string | number | undefined): number | undefined {
  const match = /^([+-]?[\d.]+(?:e[+-]?\d+)?)([a-zA-Z]*)$/.exec(String(text ?? ""));
  const factor = factors[match?.[2] ?? "?"];
  return match === null || factor === undefined ? undefined : Number(match[1]) * factor;
}

/** `1.5 GiB` for bytes, a short number for the rest. */
export function formatQuantity(value: number, isBytes: boolean): string {
  if (!isBytes) return String(Math.round(value * 100) / 100);
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${Math.round((value / 2 ** (10 * power)) * 10) / 10} ${units[power]}`;
}
