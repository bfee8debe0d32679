import { InvalidArgumentError } from "commander";

/** Parses a whole number in a range; the error names the flag and the range. */
export function integerFlag(name: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`${name} takes a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

const yes = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const no = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/**
 * Parses the values of Go's ParseBool. Any other value is rejected: a misspelt flag must not open
 * what it was meant to close.
 */
export function booleanFlag(name: string): (text: string) => boolean {
  return (text) => {
    if (!yes.has(text) && !no.has(text))
      throw new InvalidArgumentError(`${name} takes true or false.`);
    return yes.has(text);
  };
}

/** The parser of a flag that may be given several times. */
export function repeated(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

/** The parser of a flag that takes a list, and may be given several times as well. */
export function commaSeparated(text: string, before: readonly string[]): readonly string[] {
  return [...before, ...text.split(",").filter((part) => part !== "")];
}

const unitMs = new Map([
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
]);

/** The same without an initial list: a given value replaces the default, also when it is empty. */
export function listed(text: string, before: readonly string[] | undefined): readonly string[] {
  return commaSeparated(text, before ?? []);
}

/** Parses a Go duration, such as `1h30m` or `90s`, to milliseconds. */
export function durationFlag(
  name: string,
  { mayBeZero = false }: { readonly mayBeZero?: boolean } = {},
): (text: string) => number {
  return (text) => {
    if (mayBeZero && /^0+[hms]?$/.test(text)) return 0;
    if (!/^(\d+(h|m|s))+$/.test(text)) {
      throw new InvalidArgumentError(`${name} takes a duration such as 1h, 30m or 1h30m.`);
    }
    let ms = 0;
    for (const [, count, unit = ""] of text.matchAll(/(\d+)(h|m|s)/g)) {
      ms += Number(count) * (unitMs.get(unit) ?? 0);
    }
    if (ms < 1000 || !Number.isSafeInteger(ms)) {
      throw new InvalidArgumentError(`${name} takes a second or more.`);
    }
    return ms;
  };
}
