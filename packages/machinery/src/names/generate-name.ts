/** Generates a name from `generateName`, as every API server does. */
import type { Random } from "../base/index.ts";
import { utf8Length } from "./utf8-length.ts";

/** No vowels and no 0, 1, 3: the suffix spells no words, and no digit looks like a letter. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
/** With the suffix this makes 63 bytes, the length of a DNS label. */
const baseBytesMax = 58;

export function generateName(base: string, random: Random): string {
  let name = truncate(base);
  for (let i = 0; i < suffixLength; i++) {
    name += alphabet[Math.floor(random.next() * alphabet.length)] as string;
  }
  return name;
}

/** Cuts between characters: names of RBAC objects may hold more than ASCII. */
function truncate(base: string): string {
  let bytes = 0;
  let kept = "";
  for (const char of base) {
    bytes += utf8Length(char);
    if (bytes > baseBytesMax) break;
    kept += char;
  }
  return kept;
}
