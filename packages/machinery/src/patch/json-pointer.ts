/** JSON pointers (RFC 6901) and array indices as JSON patch reads them. */
import { PatchError } from "./patch-error.ts";

/**
 * The decoded tokens of `/a/b`; text before the first slash is ignored, as upstream does. Empty for
 * a pointer without a slash.
 */
export function pointerTokens(pointer: string): string[] {
  return pointer.split("/").slice(1).map(decodeToken);
}

/**
 * The index of an existing item; negative ones count from the end. Throws a `not-applicable`
 * PatchError.
 */
export function arrayIndex(token: string, length: number): number {
  return inRange(parseIndex(token), length);
}

/** The index to insert before; `length` means the end. */
export function insertionIndex(token: string, length: number): number {
  let index: number;
  try {
    index = parseIndex(token);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new PatchError(
      "not-applicable",
      `value was not a proper array index: '${token}': ${error.message}`,
    );
  }
  return inRange(index, length + 1);
}

/** Formats a path as a pointer, for authors of patches. */
export function formatPointer(tokens: readonly (string | number)[]): string {
  return tokens
    .map((token) => `/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

function decodeToken(token: string): string {
  return token.includes("~") ? token.replace(/~[01]/g, (x) => (x === "~1" ? "/" : "~")) : token;
}

function parseIndex(token: string): number {
  if (!/^[+-]?\d{1,15}$/.test(token)) {
    throw new PatchError(
      "not-applicable",
      `strconv.Atoi: parsing ${JSON.stringify(token)}: invalid syntax`,
    );
  }
  return Number(token);
}

function inRange(index: number, length: number): number {
  const fromStart = index < 0 ? index + length : index;
  if (fromStart < 0 || fromStart >= length) {
    throw new PatchError(
      "not-applicable",
      `Unable to access invalid index: ${index}: invalid index referenced`,
    );
  }
  // `-0` is zero.
  return fromStart + 0;
}
