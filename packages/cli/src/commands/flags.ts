import { InvalidArgumentError } from "commander";

/** Reads a whole number in a range, or says which flag wants what. */
export function integerFlag(name: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`${name} takes a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** Of a flag that may be given several times. */
export function repeated(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

/** Of a flag that takes a list, and may be given several times as well. */
export function commaSeparated(text: string, before: readonly string[]): readonly string[] {
  return [...before, ...text.split(",").filter((part) => part !== "")];
}
