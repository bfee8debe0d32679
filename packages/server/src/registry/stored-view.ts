/**
 * Views: a definition whose objects are kept in another definition's collection, in that one's form.
 *
 *     client  ⇄  events.k8s.io/v1 Event  ⇄  toStored / fromStored  ⇄  core/v1 Event  ⇄  storage, watch cache
 *
 * Entries are always in the stored form, wherever they are passed around; `viewed` turns one into the bytes that a client of the
 * definition gets, right before it is rendered or looked into, `encodeStored` is the way back. A definition without a view costs nothing.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Entry } from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";
import type { ResourceDefinition } from "./definition.ts";

export interface StoredView {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
  /** Both set kind and apiVersion, and neither changes what it is given. */
  toStored(object: JsonObject): JsonObject;
  fromStored(object: JsonObject): JsonObject;
}

/** The parts of a storage key that say whose collection it is. */
export function collectionKeyOf({ view, group, resource, identity }: ResourceDefinition): {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
} {
  return view ?? { group, resource, identity };
}

export function viewed({ view }: ResourceDefinition, entry: Entry): Entry {
  if (view === undefined) return entry;
  return { ...entry, value: encodeObject(view.fromStored(decodeObject(entry))) };
}

/** The object of an entry, as a client of the definition knows it. */
export function objectOf({ view }: ResourceDefinition, entry: Entry): JsonObject {
  const object = decodeObject(entry);
  return view === undefined ? object : view.fromStored(object);
}

export function encodeStored({ view }: ResourceDefinition, object: JsonObject): Buffer {
  return encodeObject(view === undefined ? object : view.toStored(object));
}
