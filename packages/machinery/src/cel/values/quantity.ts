/**
 * Resource quantities: decimal numbers with a suffix, read as Kubernetes reads them.
 *
 * Small ones are an int64 and a power of ten, like upstream's fast path; larger or finer ones are
 * arbitrary. The difference shows: only the former can be integers.
 */
import { chargeSteps } from "./step-counter.ts";

export class Quantity {
  readonly unscaled: bigint;
  /** The value is `unscaled * 10^scale`. */
  readonly scale: number;
  /** Fits upstream's int64 form. */
  readonly small: boolean;

  constructor(unscaled: bigint, scale: number, small: boolean) {
    this.unscaled = unscaled;
    this.scale = scale;
    this.small = small;
  }

  static ofInt(value: bigint): Quantity {
    return new Quantity(value, 0, true);
  }

  /** The value as an int64, if it is a small quantity without a fraction part in its form. */
  asInt(): bigint | undefined {
    if (!this.small || this.scale < 0) return undefined;
    return fitsInt64(this.unscaled * 10n ** BigInt(this.scale));
  }

  asFloat(): number {
    return Number(`${this.unscaled}e${this.scale}`);
  }

  sign(): bigint {
    return this.unscaled > 0n ? 1n : this.unscaled < 0n ? -1n : 0n;
  }

  compare(other: Quantity): number {
    const [a, b] = align(this, other);
    return a < b ? -1 : a > b ? 1 : 0;
  }

  add(other: Quantity): Quantity {
    if (other.unscaled === 0n) return this;
    if (this.unscaled === 0n) return other;
    const [a, b, scale] = align(this, other);
    const small =
      this.small && other.small && fitsInt64(a) !== undefined && fitsInt64(b) !== undefined;
    return new Quantity(a + b, scale, small && fitsInt64(a + b) !== undefined);
  }

  negate(): Quantity {
    return new Quantity(-this.unscaled, this.scale, this.small);
  }
}

function align(a: Quantity, b: Quantity): [bigint, bigint, number] {
  // Numbers of some thousand digits are multiplied.
  chargeSteps(Math.abs(a.scale - b.scale) + (a.small && b.small ? 0 : 64));
  const scale = Math.min(a.scale, b.scale);
  return [
    a.unscaled * 10n ** BigInt(a.scale - scale),
    b.unscaled * 10n ** BigInt(b.scale - scale),
    scale,
  ];
}

function fitsInt64(value: bigint): bigint | undefined {
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

const FORMAT_WRONG =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG = "unable to parse quantity's suffix";

/** Powers of ten, or of two. */
const DECIMAL_SUFFIXES = new Map(
  Object.entries({ n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }),
);
const BINARY_SUFFIXES = new Map(Object.entries({ Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }));

/** The longest text that is read, in UTF-16 units, and the largest power of ten. */
const TEXT_LENGTH_MAX = 1024;
const EXPONENT_MAX = 1024;
/** The finest power of ten that is kept; anything finer is rounded up. */
const NANO = -9;
/** Decimal digits that surely fit an int64. */
const SMALL_DIGITS_MAX = 18;

/** The quantity, or what is wrong with it. */
export function parseQuantity(text: string): Quantity | string {
  if (text.length > TEXT_LENGTH_MAX) return FORMAT_WRONG;
  chargeSteps(text.length);
  const match = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]*)(?:[-+]?\d*))$/.exec(text);
  if (match === null) return FORMAT_WRONG;
  const [, sign, whole = "", fraction = "", suffix = ""] = match;
  if (whole === "" && fraction === "") return FORMAT_WRONG;
  const negative = sign === "-";
  const digits = whole.replace(/^0+(?=\d)/, "");
  const binary = BINARY_SUFFIXES.get(suffix);
  if (binary !== undefined) return binaryQuantity(digits, fraction, binary, negative);
  const exponent = DECIMAL_SUFFIXES.get(suffix) ?? exponentOf(suffix);
  if (exponent === undefined) return SUFFIX_WRONG;
  const unscaled = BigInt(digits + fraction || "0") * (negative ? -1n : 1n);
  const scale = exponent - fraction.length;
  const small = digits.length + fraction.length <= SMALL_DIGITS_MAX && scale >= NANO;
  return small ? new Quantity(unscaled, scale, true) : roundedUp(unscaled, scale);
}

function exponentOf(suffix: string): number | undefined {
  const match = /^[eE]([+-]?\d+)$/.exec(suffix);
  if (match === null) return undefined;
  const exponent = Number(match[1]);
  return Math.abs(exponent) <= EXPONENT_MAX ? exponent : undefined;
}

function binaryQuantity(
  digits: string,
  fraction: string,
  power: number,
  negative: boolean,
): Quantity {
  const unscaled = BigInt(digits + fraction || "0") * 2n ** BigInt(power) * (negative ? -1n : 1n);
  const precision = 15 - digits.length - Math.trunc((power * 3) / 10) - 1;
  const small = fraction === "" && precision >= 0;
  return small ? new Quantity(unscaled, 0, true) : roundedUp(unscaled, -fraction.length);
}

/** Away from zero, to the finest power that is kept. */
function roundedUp(unscaled: bigint, scale: number): Quantity {
  if (scale >= NANO) return new Quantity(unscaled, scale, false);
  const divisor = 10n ** BigInt(NANO - scale);
  const quotient = unscaled / divisor;
  const up = unscaled % divisor === 0n ? 0n : unscaled > 0n ? 1n : -1n;
  return new Quantity(quotient + up, NANO, false);
}
