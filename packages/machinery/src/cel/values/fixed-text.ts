/**
 * Doubles with a given number of digits, rounded half to even as Go does; JavaScript rounds ties
 * up.
 */

/** The most digits that JavaScript itself prints. */
const NATIVE_DIGITS_MAX = 100;

export function fixedText(value: number, digits: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e21)
    return `${sign}${BigInt(magnitude)}${digits > 0 ? `.${"0".repeat(digits)}` : ""}`;
  const native = Math.min(digits, NATIVE_DIGITS_MAX);
  return sign + halfEven(magnitude, native) + "0".repeat(digits - native);
}

function halfEven(magnitude: number, digits: number): string {
  const rounded = magnitude.toFixed(digits);
  const exact = magnitude.toFixed(Math.min(digits + 30, NATIVE_DIGITS_MAX));
  const cut = exact.length - (Math.min(digits + 30, NATIVE_DIGITS_MAX) - digits);
  const isTie = /^\.?50*$/.test(exact.slice(digits === 0 ? exact.indexOf(".") : cut));
  const floor = exact.slice(0, digits === 0 ? exact.indexOf(".") : cut);
  const lastDigit = Number(floor.at(-1));
  return isTie && lastDigit % 2 === 0 ? floor : rounded;
}

/** One digit before the point, an exponent of at least two digits. */
export function scientificText(value: number, digits: number): string {
  const native = Math.min(digits, NATIVE_DIGITS_MAX);
  const [mantissa = "", exponent = "0"] = value.toExponential(native).split("e");
  const power = Number(exponent);
  const padded = String(Math.abs(power)).padStart(2, "0");
  return `${mantissa}${"0".repeat(digits - native)}e${power < 0 ? "-" : "+"}${padded}`;
}
