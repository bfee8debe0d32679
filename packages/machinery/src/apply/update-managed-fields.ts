/** managedFields after a write that is not an apply: create, update, patch. */
import { type Resumable, runSync } from "../base/index.ts";
import {
  isEmptyObject,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
} from "../json/index.ts";
import { capUpdateManagers } from "./cap-managers.ts";
import { createdFields, createdFieldsResumable } from "./created-fields.ts";
import { type FieldSet, subtractFieldSet, subtractSubtrees, unionFieldSets } from "./field-set.ts";
import { cachedFieldSet } from "./field-set-cache.ts";
import { sortFieldSet, sortFieldSetResumable } from "./fields-v1.ts";
import {
  decodeManagers,
  encodeManagers,
  encodeSorted,
  type Manager,
  type Managers,
  managedFieldsOf,
  managerIdentity,
  readOwnManagers,
  withManagedFields,
} from "./managed-fields.ts";
import { reconcileManagers, takeOwnership, WriteChanges } from "./ownership.ts";
import { systemFields } from "./system-fields.ts";
import type { TypeSchema } from "./type-schema.ts";
import { type VersionConverter, Versions } from "./versions.ts";

/** The description of a write, the same for updates and applies. */
export interface WriteOptions {
  /** The stored object; absent when the write creates it. */
  readonly live?: JsonObject | undefined;
  readonly manager: string;
  /** The version of the endpoint, in which `live` and the new object are. */
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
  /** RFC 3339, seconds, UTC. */
  readonly now: string;
  readonly schema: TypeSchema;
  /**
   * Fields that cannot be changed through the endpoint: no manager gets ownership of them through
   * it.
   */
  readonly resetFields?: FieldSet | undefined;
  /** Objects that always exist: their members can be owned, the objects themselves cannot. */
  readonly unowned?: FieldSet | undefined;
  /** Needed where a kind is served in several versions that differ. */
  readonly converter?: VersionConverter | undefined;
}

export interface UpdateOptions extends WriteOptions {
  /**
   * The object as it will be stored, defaults included. Its managedFields are those that the client
   * sent, if any.
   */
  readonly updated: JsonObject;
}

/**
 * `updated` with its managedFields. Neither object is modified; parts are shared. Throws only the
 * converter's errors.
 */
export function updateManagedFields(options: UpdateOptions): JsonObject {
  const { live, updated } = options;
  if (live === undefined && managedFieldsOf(updated) === undefined) {
    const make = () => fieldsOfCreator(options);
    return ownedByCreator(options, cachedFieldSet(updated, options, make) ?? make());
  }
  return runSync(updateResumable(options));
}

/**
 * The same, yielding after each step, so that other requests proceed while a large object is
 * processed. Large objects are not cached.
 */
export function* updateResumable(options: UpdateOptions): Resumable<JsonObject> {
  const { live, updated } = options;
  if (live === undefined && managedFieldsOf(updated) === undefined)
    return ownedByCreator(options, yield* creatorResumable(options));
  const managers = yield* startingManagers(options);
  // An object whose managers were cleared stays without managers: tracking starts again with the
  // first apply.
  if (managers.size === 0 && live !== undefined) return withManagedFields(updated, []);
  // The managers are not compared: no manager owns them.
  const stored = live === undefined ? undefined : managedFieldsOf(live);
  const after = withManagedFields(updated, Array.isArray(stored) ? stored : []);
  yield;
  const written = yield* recordUpdate(managers, live ?? {}, after, options);
  yield;
  return withManagedFields(updated, yield* encodeManagers(capUpdateManagers(written)));
}

function ownedByCreator(options: UpdateOptions, fields: FieldSet): JsonObject {
  if (isEmptyObject(fields)) return withManagedFields(options.updated, []);
  return withManagedFields(options.updated, [encodeSorted(updaterOf(options), fields)]);
}

function fieldsOfCreator(options: UpdateOptions): FieldSet {
  const { updated, schema, resetFields } = options;
  return sortFieldSet(ownable(createdFields(updated, schema, resetFields), options));
}

function* creatorResumable(options: UpdateOptions): Resumable<FieldSet> {
  const { updated, schema, resetFields } = options;
  const created = yield* createdFieldsResumable(updated, schema, resetFields);
  yield;
  return yield* sortFieldSetResumable(ownable(created, options));
}

function ownable(created: FieldSet, { unowned }: UpdateOptions): FieldSet {
  return unowned === undefined ? created : subtractFieldSet(created, unowned);
}

/** The managers after `manager` has turned `before` into `after`. */
export function* recordUpdate(
  managers: Managers,
  before: JsonObject,
  after: JsonObject,
  options: WriteOptions,
): Resumable<Managers> {
  const versions = new Versions(options);
  const changes = new WriteChanges({ before, after, versions, resetFields: options.resetFields });
  changes.at(options.apiVersion);
  yield;
  const reconciled = yield* reconcileManagers(managers, before, versions);
  const { managers: left } = yield* takeOwnership(reconciled, changes);
  yield;
  const fields = ownFields(changes.at(options.apiVersion)?.written, options);
  if (fields === undefined) return left;

  const writer = updaterOf(options);
  const identity = managerIdentity(writer);
  const previous = left.get(identity)?.fields;
  left.set(identity, {
    name: writer.name,
    operation: writer.operation,
    apiVersion: writer.apiVersion,
    subresource: writer.subresource,
    time: writer.time,
    fields: previous === undefined ? fields : unionFieldSets(previous, fields),
  });
  return left;
}

/** The written fields that can be owned; undefined if there are none. */
function ownFields(
  written: FieldSet | undefined,
  { resetFields, unowned }: WriteOptions,
): FieldSet | undefined {
  if (written === undefined) return undefined;
  const changeable = resetFields === undefined ? written : subtractSubtrees(written, resetFields);
  const ownable = unowned === undefined ? changeable : subtractFieldSet(changeable, unowned);
  const fields = subtractFieldSet(ownable, systemFields);
  return isEmptyObject(fields) ? undefined : fields;
}

function updaterOf(options: WriteOptions): Omit<Manager, "fields"> {
  return {
    name: options.manager === "" ? "unknown" : options.manager,
    operation: "Update",
    apiVersion: options.apiVersion,
    subresource: options.subresource ?? "",
    time: options.now,
  };
}

/**
 * The managers from which the write starts: those that the client sent, or the live ones if it sent
 * none, sent invalid ones, or writes to a subresource. Clients that do not know managedFields must
 * not delete them by accident.
 */
function* startingManagers({ live, updated, subresource }: UpdateOptions): Resumable<Managers> {
  const sent = managedFieldsOf(updated);
  const stored = live === undefined ? undefined : managedFieldsOf(live);
  if (sent === stored || (subresource ?? "") !== "" || !Array.isArray(sent)) {
    return readOwnManagers(live);
  }
  if (isReset(sent)) return new Map();
  if (jsonEqual(sent, stored)) return readOwnManagers(live);
  try {
    const managers = yield* decodeManagers(sent);
    return managers.size === 0 ? readOwnManagers(live) : managers;
  } catch (error) {
    if (error instanceof Error) return readOwnManagers(live);
    throw error;
  }
}

/** `[]` and `[{}]` request to clear all managers. */
function isReset(sent: readonly JsonValue[]): boolean {
  if (sent.length === 0) return true;
  const [first] = sent;
  return sent.length === 1 && isJsonObject(first) && Object.keys(first).length === 0;
}
