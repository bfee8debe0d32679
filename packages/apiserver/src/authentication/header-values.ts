/** Headers that may occur several times: joined by commas, two groups would look like one. */
import type { HeaderRecord } from "../request/api-request.ts";

export interface RequestHeaders {
  readonly headers: HeaderRecord;
  /** Alternating names and values, where `headers` has joined them. */
  readonly rawHeaders?: readonly string[] | undefined;
}

/** The values of the requested headers, by lower-case name, in the order of their occurrence. */
export function headerValues(
  { headers, rawHeaders }: RequestHeaders,
  isWanted: (name: string) => boolean,
): Map<string, string[]> {
  return rawHeaders === undefined ? fromRecord(headers, isWanted) : fromPairs(rawHeaders, isWanted);
}

function fromPairs(
  pairs: readonly string[],
  isWanted: (name: string) => boolean,
): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const name = (pairs[at] as string).toLowerCase();
    if (!isWanted(name)) continue;
    const value = pairs[at + 1] as string;
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return values;
}

function fromRecord(
  headers: HeaderRecord,
  isWanted: (name: string) => boolean,
): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of Object.entries(headers)) {
    if (!isWanted(name) || value === undefined) continue;
    values.set(name, typeof value === "string" ? [value] : [...value]);
  }
  return values;
}

/** A key with invalid escapes is returned unchanged. */
export function unescapeExtraKey(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return escaped;
  }
}
