/**
 * Numbers as Go prints and tests them, because the error texts and the integer test come from Go.
 */

/**
 * A float64 under `%v`: shortest digits, an exponent of at least two digits below 1e-4 and from
 * 1e21 on.
 */
export function formatGoFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e21)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return String(value);
}

/** Go's `int64(f)`, printed. */
export function formatTruncated(value: number): string {
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? String(whole) : BigInt(whole).toString();
}

const jsonIntegerMax = 2 ** 53 - 1;
const integerEpsilon = 1e-9;

/** Whether a float counts as an integer, with go-openapi's tolerance. */
export function isJsonInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > jsonIntegerMax) return false;
  if (Number.isInteger(value)) return true;
  // Go compares with float64(uint64(f)), which truncates; for negative floats the conversion wraps
  // and never comes close.
  const whole = Math.trunc(value);
  if (value < 0 || whole === 0) return false;
  return (value - whole) / (value + whole) < integerEpsilon;
}
