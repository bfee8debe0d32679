/**
 * metadata.managedFields: the managers of fields. Reading and writing the entries, their identity
 * and their order.
 */
import type { Resumable } from "../base/index.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  member,
  withMember,
} from "../json/index.ts";
import { quote } from "../status/index.ts";
import { compareText } from "./compare-text.ts";
import { emptyFieldSet, type FieldSet } from "./field-set.ts";
import {
  isLargeFieldSet,
  readFieldSetResumable,
  sortFieldSet,
  sortFieldSetResumable,
} from "./fields-v1.ts";

export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339, seconds, UTC. */
  readonly time?: string | undefined;
  readonly fields: FieldSet;
  /**
   * The entry from which this manager was read, kept so that unchanged entries are not encoded
   * again.
   */
  readonly entry?: JsonObject;
}

/** By identity, in the order of the entries. */
export type Managers = ReadonlyMap<string, Manager>;

/**
 * The identity of entries: an applier may change its version, an updater has one entry per version.
 * It is Kubernetes' text, because conflicts are sorted by it.
 */
export function managerIdentity(manager: Omit<Manager, "fields">): string {
  const { name, operation, apiVersion, subresource } = manager;
  let members = name === "" ? "" : `"manager":${JSON.stringify(name)},`;
  members += `"operation":"${operation}"`;
  if (operation === "Update") members += `,"apiVersion":${JSON.stringify(apiVersion)}`;
  if (subresource !== "") members += `,"subresource":${JSON.stringify(subresource)}`;
  return `{${members}}`;
}

/**
 * Reads the entries of an object that this server wrote: their fields are known to be normalised.
 */
export function readOwnManagers(object: JsonObject | undefined): Managers {
  const entries = object === undefined ? undefined : managedFieldsOf(object);
  const managers = new Map<string, Manager>();
  if (!Array.isArray(entries)) return managers;
  for (const entry of entries as readonly JsonValue[]) {
    if (!isJsonObject(entry)) continue;
    const fields = member(entry, "fieldsV1");
    const manager = readEntry(entry, isJsonObject(fields) ? (fields as FieldSet) : emptyFieldSet);
    managers.set(managerIdentity(manager), manager);
  }
  return managers;
}

/** Reads entries that a client sent. Throws an Error with Kubernetes' text. */
export function* decodeManagers(entries: readonly JsonValue[]): Resumable<Managers> {
  const managers = new Map<string, Manager>();
  for (const [i, entry] of entries.entries()) {
    const { operation, apiVersion, fieldsType, fieldsV1 } = isJsonObject(entry) ? entry : {};
    if (operation !== "Apply" && operation !== "Update") {
      throw new Error("operation must be `Apply` or `Update`");
    }
    if (typeof apiVersion !== "string" || apiVersion === "") {
      throw new Error("apiVersion must not be empty");
    }
    if (fieldsType === undefined || fieldsType === "") {
      throw new Error(`missing fieldsType in managed fields entry ${i}`);
    }
    if (fieldsType !== "FieldsV1") {
      throw new Error(
        `invalid fieldsType ${quote(String(fieldsType))} in managed fields entry ${i}`,
      );
    }
    const { entry: _, ...manager } = readEntry(
      entry as JsonObject,
      yield* readFieldSetResumable(fieldsV1 ?? emptyFieldSet),
    );
    managers.set(managerIdentity(manager), manager);
  }
  return managers;
}

function readEntry(entry: JsonObject, fields: FieldSet): Manager {
  return {
    name: text(entry, "manager") ?? "",
    operation: text(entry, "operation") === "Apply" ? "Apply" : "Update",
    apiVersion: text(entry, "apiVersion") ?? "",
    subresource: text(entry, "subresource") ?? "",
    time: text(entry, "time"),
    fields,
    entry,
  };
}

/**
 * The entries in the order of the wire: appliers first, then by time, name, version and
 * subresource.
 */
export function* encodeManagers(managers: Managers): Resumable<JsonValue[]> {
  const entries: JsonValue[] = [];
  for (const manager of [...managers.values()].sort(compareManagers))
    entries.push(yield* encodeManager(manager));
  return entries;
}

function* encodeManager(manager: Manager): Resumable<JsonObject> {
  const { entry } = manager;
  if (
    entry !== undefined &&
    member(entry, "fieldsV1") === manager.fields &&
    text(entry, "time") === manager.time &&
    text(entry, "apiVersion") === manager.apiVersion &&
    text(entry, "manager") === manager.name
  ) {
    return entry;
  }
  const { fields } = manager;
  const sorted = isLargeFieldSet(fields)
    ? yield* sortFieldSetResumable(fields)
    : sortFieldSet(fields);
  return encodeSorted(manager, sorted);
}

/** The entry of a manager whose fields are sorted. */
export function encodeSorted(manager: Omit<Manager, "fields">, fields: FieldSet): JsonObject {
  const encoded: { [key: string]: JsonValue } = {};
  if (manager.name !== "") encoded["manager"] = manager.name;
  encoded["operation"] = manager.operation;
  encoded["apiVersion"] = manager.apiVersion;
  if (manager.time !== undefined) encoded["time"] = manager.time;
  encoded["fieldsType"] = "FieldsV1";
  encoded["fieldsV1"] = fields as JsonObject;
  if (manager.subresource !== "") encoded["subresource"] = manager.subresource;
  return encoded;
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareText(a.name, b.name) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

/** Seconds since the epoch; entries without a time are the oldest. */
export function secondsOf({ time }: Pick<Manager, "time">): number {
  const milliseconds = time === undefined ? 0 : Date.parse(time);
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000);
}

export function managedFieldsOf(object: JsonObject): JsonValue | undefined {
  const metadata = member(object, "metadata");
  return isJsonObject(metadata) ? member(metadata, "managedFields") : undefined;
}

/**
 * The object with these entries and no other change; the identical object if its entries are equal.
 */
export function withManagedFields(object: JsonObject, entries: readonly JsonValue[]): JsonObject {
  const metadata = member(object, "metadata");
  const current = isJsonObject(metadata) ? metadata : {};
  const previous = member(current, "managedFields");
  if (entries.length === 0) {
    if (previous === undefined) return object;
    const { managedFields: _, ...rest } = current;
    return withMember(object, "metadata", rest);
  }
  if (previous !== undefined && isSameList(previous, entries)) return object;
  return withMember(object, "metadata", withMember(current, "managedFields", entries));
}

function isSameList(a: JsonValue | undefined, b: readonly JsonValue[]): boolean {
  return Array.isArray(a) && a.length === b.length && a.every((entry, i) => entry === b[i]);
}

/** Whether two lists of entries differ only in timestamps. */
export function equalButForTimes(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return jsonEqual(a, b);
  return a.every((entry, i) => jsonEqual(withoutTime(entry), withoutTime(b[i])));
}

function withoutTime(entry: JsonValue): JsonValue {
  if (!isJsonObject(entry)) return entry;
  const { time: _, ...rest } = entry;
  return rest;
}

function text(object: JsonObject, key: string): string | undefined {
  const value = member(object, key);
  return typeof value === "string" ? value : undefined;
}
