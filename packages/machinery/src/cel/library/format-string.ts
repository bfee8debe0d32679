/**
 * `format`: clauses such as `%s`, `%d` and `%.2f` filled in from a list.
 *
 * Kubernetes keeps an early version of this function, which prints nested values as literals and
 * numbers for the locale en-US; the specification's own form is plainer. A dialect selects one of
 * the two.
 */
import { RESULT_ELEMENTS_MAX } from "../limits.ts";
import { kindOf, typeNameOf } from "../values/kind.ts";
import { chargeSteps, chargeText, type StepCounter } from "../values/step-counter.ts";
import { CelError, type CelList, type CelResult, CelUint, type CelValue } from "../values/value.ts";
import { type FormatClause, parseClause } from "./format-clause.ts";

export interface FormatDialect {
  /** `%s` */
  text(value: CelValue, steps: StepCounter): string | CelError;
  /** `%d` of what is no integer; undefined if it cannot be printed. */
  decimal(value: CelValue): string | undefined;
  /** `%f`; undefined if it cannot be printed. */
  fixed(value: CelValue, precision: number): string | undefined;
  /** `%e`; undefined if it cannot be printed. */
  scientific(value: CelValue, precision: number): string | undefined;
}

export function formatString(
  format: string,
  args: CelList,
  dialect: FormatDialect,
  steps: StepCounter,
): CelResult {
  let text = "";
  let used = 0;
  for (let at = 0; at < format.length; ) {
    const percent = format.indexOf("%", at);
    if (percent === -1) {
      text += format.slice(at);
      break;
    }
    text += format.slice(at, percent);
    if (format.charAt(percent + 1) === "%") {
      text += "%";
      at = percent + 2;
      continue;
    }
    if (used >= args.size) return new CelError(`index ${used} out of range`);
    const clause = parseClause(format, percent + 1);
    if (clause instanceof CelError) return clause;
    const value = args.get(used++);
    if (value instanceof CelError) return value;
    const formatted = formatClause(clause, value, dialect, steps);
    if (formatted instanceof CelError) {
      return new CelError(`error during formatting: ${formatted.message}`);
    }
    chargeText(formatted.length);
    text += formatted;
    if (text.length > RESULT_ELEMENTS_MAX) {
      return new CelError(
        `result exceeds limit: size: ${text.length}, limit ${RESULT_ELEMENTS_MAX}`,
      );
    }
    at = clause.end;
  }
  return text;
}

function formatClause(
  { letter, precision }: FormatClause,
  value: CelValue,
  dialect: FormatDialect,
  steps: StepCounter,
): string | CelError {
  // A number's digits, and all that it takes to round them.
  steps.step(letter === "f" || letter === "e" ? 48 + precision : 16);
  switch (letter) {
    case "s":
      return dialect.text(value, steps);
    case "d":
      return (
        integerText(value, 10) ??
        dialect.decimal(value) ??
        refused("decimal clause can only be used on integers", value)
      );
    case "f":
      return (
        dialect.fixed(value, precision) ??
        refused("fixed-point clause can only be used on doubles", value)
      );
    case "e":
      return (
        dialect.scientific(value, precision) ??
        refused("scientific clause can only be used on doubles", value)
      );
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return (
        integerText(value, 2) ??
        refused("only integers and bools can be formatted as binary", value)
      );
    case "o":
      return integerText(value, 8) ?? refused("octal clause can only be used on integers", value);
    default: {
      const hex = hexText(value);
      if (hex === undefined) {
        return refused("only integers, byte buffers, and strings can be formatted as hex", value);
      }
      return letter === "X" ? hex.toUpperCase() : hex;
    }
  }
}

function refused(words: string, value: CelValue): CelError {
  return new CelError(`${words}, was given ${typeNameOf(value)}`);
}

/** What `%s` cannot print. */
export function unprintableError(value: CelValue): CelError {
  const kinds =
    "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
  return refused(`string clause can only be used on ${kinds}`, value);
}

export function integerText(value: CelValue, radix: number): string | undefined {
  if (typeof value === "bigint") return value.toString(radix);
  return value instanceof CelUint ? value.value.toString(radix) : undefined;
}

function hexText(value: CelValue): string | undefined {
  if (typeof value === "string" || kindOf(value) === "bytes") {
    // Up to three bytes for a character, two digits for a byte.
    chargeSteps(value instanceof Uint8Array ? value.length : String(value).length * 3);
    const bytes = value instanceof Uint8Array ? value : new TextEncoder().encode(String(value));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  return integerText(value, 16);
}
