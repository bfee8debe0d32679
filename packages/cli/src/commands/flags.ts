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
