/** Hashes for use in names: SHA-224 in base 36, shortened to the requested number of digits. */
import { hash } from "node:crypto";

export function hashDigits(text: string, digits: number): string {
  const hex = hash("sha224", text, "hex");
  return BigInt(`0x${hex}`).toString(36).padStart(44, "0").slice(-digits);
}
