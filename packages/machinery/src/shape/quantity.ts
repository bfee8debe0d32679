/**
 * Quantities in their canonical form: `1000m` becomes `1`, `1024Mi` becomes `1Gi`, `0.5Gi` becomes
 * `512Mi`.
 *
 * As upstream: no precision is lost down to one nano, the suffix is the largest one that leaves a
 * whole number, and binary suffixes stay binary unless the value is below 1024.
 */
const suffixes = {
  decimal: ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"],
  binary: ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
} as const;
/** The power of ten of the first decimal suffix; nothing finer is kept. */
const finest = -9;
const one = 10n ** BigInt(-finest);
/** The maximum exponent; a bound of the computation. */
const quantityLengthMax = 1024;
const exponentMax = 1024;
/** Larger values are capped, as upstream does. */
const valueMax = 2n ** 63n - 1n;

type Format = "decimal" | "binary" | "exponent";

/** The error is the text after the path in a decode error. */
export type ParsedQuantity = { readonly canonical: string } | { readonly error: string };

const wrongFormat =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const wrongSuffix = "unable to parse quantity's suffix";

export function parseQuantity(text: string): ParsedQuantity {
  const read = readQuantity(text);
  if ("error" in read) return read;
  const { isNegative, nanos, format } = read;
  return { canonical: `${isNegative && nanos > 0n ? "-" : ""}${print(nanos, format)}` };
}

/** A quantity that can be added: in billionths, and whether it is shown with binary suffixes. */
export interface QuantityNanos {
  readonly nanos: bigint;
  readonly isBinary: boolean;
}

/** Undefined if the quantity is invalid or negative. */
export function quantityNanos(text: string): QuantityNanos | undefined {
  const read = readQuantity(text);
  if ("error" in read || (read.isNegative && read.nanos > 0n)) return undefined;
  const { nanos, format } = read;
  return { nanos, isBinary: format === "binary" && nanos >= 1024n * one };
}

/** Binary suffixes are used where they are exact. */
export function formatNanos({ nanos, isBinary }: QuantityNanos): string {
  return print(nanos, isBinary && nanos % (1024n * one) === 0n ? "binary" : "decimal");
}

interface ReadQuantity {
  readonly isNegative: boolean;
  readonly nanos: bigint;
  readonly format: Format;
}

function readQuantity(text: string): ReadQuantity | { readonly error: string } {
  const match =
    text.length > quantityLengthMax
      ? null
      : /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match ?? [];
  if (match === null || (whole === "" && fraction === "")) return { error: wrongFormat };
  const scaled = scaleOf(suffix);
  if (scaled === undefined) return { error: wrongSuffix };
  const digits = BigInt(`${whole}${fraction}`) * scaled.factor;
  const nanos = toNanos(digits, scaled.exponent - fraction.length);
  const isSmall = scaled.format === "binary" && nanos > 0n && nanos < one;
  return { isNegative: sign === "-", nanos, format: isSmall ? "decimal" : scaled.format };
}

/** Whether a canonical quantity is negative, and whether it is a whole number. */
export function isNegativeQuantity(canonical: string): boolean {
  return canonical.startsWith("-");
}

export function isIntegerQuantity(canonical: string): boolean {
  const exponent = /e(-?\d+)$/.exec(canonical)?.[1];
  if (exponent !== undefined) return Number(exponent) >= 0;
  return !/[num]$/.test(canonical);
}

interface Scale {
  readonly format: Format;
  readonly factor: bigint;
  readonly exponent: number;
}

function scaleOf(suffix: string): Scale | undefined {
  const decimal = (suffixes.decimal as readonly string[]).indexOf(suffix);
  if (decimal >= 0) return { format: "decimal", factor: 1n, exponent: finest + 3 * decimal };
  const binary = (suffixes.binary as readonly string[]).indexOf(suffix);
  if (binary >= 0) return { format: "binary", factor: 1024n ** BigInt(binary), exponent: 0 };
  const written = /^[eE]([+-]?\d+)$/.exec(suffix)?.[1];
  if (written === undefined || Math.abs(Number(written)) > exponentMax) return undefined;
  return { format: "exponent", factor: 1n, exponent: Number(written) };
}

/** Rounded up, as upstream does. */
function toNanos(digits: bigint, exponent: number): bigint {
  const shift = exponent - finest;
  const max = valueMax * one;
  if (shift >= 0) {
    const nanos = digits * 10n ** BigInt(shift);
    return nanos > max ? max : nanos;
  }
  const divisor = 10n ** BigInt(-shift);
  const nanos = (digits + divisor - 1n) / divisor;
  return nanos > max ? max : nanos;
}

function print(nanos: bigint, format: Format): string {
  if (nanos === 0n) return "0";
  if (format === "binary" && nanos >= 1024n * one)
    return factored((nanos + one - 1n) / one, 1024n, suffixes.binary);
  if (format !== "exponent") return factored(nanos, 1000n, suffixes.decimal);
  let exponent = finest;
  while (nanos % 1000n === 0n) {
    nanos /= 1000n;
    exponent += 3;
  }
  return exponent === 0 ? String(nanos) : `${nanos}e${exponent}`;
}

function factored(value: bigint, step: bigint, names: readonly string[]): string {
  let at = 0;
  while (value % step === 0n && at < names.length - 1) {
    value /= step;
    at++;
  }
  return `${value}${names[at]}`;
}
