/** The form of a kind whose objects are stored in another version, when two pure functions lead from one to the other. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Entry } from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";
import type { VersionCodec } from "./stored-form.ts";

export interface VersionConversion {
  /** The version that is served: `autoscaling/v1`. */
  readonly name: string;
  readonly toServed: (stored: JsonObject) => JsonObject;
  readonly toStored: (served: JsonObject) => JsonObject;
}

export function conversionCodec({ name, toServed, toStored }: VersionConversion): VersionCodec {
  const presentNow = (entry: Entry) => ({
    ...entry,
    value: encodeObject(toServed(decodeObject(entry))),
  });
  return { name, presentNow, present: (entries) => entries.map(presentNow), toStored };
}
