/**
 * The codec of a kind whose objects are stored in another version, given two pure conversion
 * functions.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Entry } from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";
import type { VersionCodec } from "./version-codec.ts";

export interface VersionConversion {
  /** The served version: `autoscaling/v1`. */
  readonly name: string;
  readonly toServed: (stored: JsonObject) => JsonObject;
  readonly toStored: (served: JsonObject) => JsonObject;
}

export function conversionCodec({ name, toServed, toStored }: VersionConversion): VersionCodec {
  const toServedSync = (entry: Entry) => ({
    ...entry,
    value: encodeObject(toServed(decodeObject(entry))),
  });
  return {
    name,
    storesAsServed: false,
    toServedSync,
    toServed: (entries) => entries.map(toServedSync),
    toStored: async (object) => toStored(object),
  };
}
