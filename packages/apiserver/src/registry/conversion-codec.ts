/**
 * The codec of a kind whose objects are stored in another version, given two pure conversion
 * functions.
 */
import { type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Entry } from "../storage/index.ts";
import {
  decodeObject,
  decodeObjectResumable,
  encodeObject,
  encodeObjectResumable,
} from "../stored-object/index.ts";
import type { VersionCodec } from "./version-codec.ts";

export interface VersionConversion {
  /** The served version: `autoscaling/v1`. */
  readonly name: string;
  readonly toServed: (stored: JsonObject) => JsonObject;
  readonly toStored: (served: JsonObject) => JsonObject;
}

export function conversionCodec({ name, toServed, toStored }: VersionConversion): VersionCodec {
  const toServedObject = (entry: Entry) => toServed(decodeObject(entry));
  const toServedSync = (entry: Entry) => ({ ...entry, value: encodeObject(toServedObject(entry)) });
  const toServedResumable = function* (entry: Entry): Resumable<Entry> {
    const stored = yield* decodeObjectResumable(entry);
    yield;
    const served = toServed(stored);
    yield;
    return { ...entry, value: yield* encodeObjectResumable(served) };
  };
  return {
    name,
    storesAsServed: false,
    toServedSync,
    toServedResumable,
    toServedObject,
    toServed: (entries) => runSyncFirst(eachServed(entries, toServedResumable)),
    toStored: async (object) => toStored(object),
  };
}

function* eachServed(
  entries: readonly Entry[],
  toServed: (entry: Entry) => Resumable<Entry>,
): Resumable<readonly Entry[]> {
  const served: Entry[] = [];
  for (const entry of entries) {
    yield;
    served.push(yield* toServed(entry));
  }
  return served;
}
