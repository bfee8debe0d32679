/** The object in an entry, for an answer that is made while it is sent: of a large one, reading it rests. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Entry } from "../storage/index.ts";
import { decodeObject, decodeObjectInPieces } from "../stored-object/index.ts";

/** Bytes that are read at once, in part of a millisecond. */
export const shortObjectBytes = 64 << 10;

export function* decodeInRests(entry: Entry): Generator<undefined, JsonObject, void> {
  if (entry.value.length <= shortObjectBytes) return decodeObject(entry);
  const work = decodeObjectInPieces(entry);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    yield undefined;
  }
}
