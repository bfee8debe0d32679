/** managedFields after a write that is not an apply: create, update, patch. */
import { type Resumable, runSync } from "../base/index.ts";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "../json/index.ts";
import { capUpdateManagers } from "./cap-managers.ts";
import { createdFields, createdFieldsResumable } from "./created-fields.ts";
import {
  type FieldSet,
  isEmptyFieldSet,
  subtractFieldSet,
  subtractSubtrees,
  unionFieldSets,
} from "./field-set.ts";
import { sortFieldSet } from "./fields-v1.ts";
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
import { cachedFieldSet } from "./remembered-fields.ts";
import { systemFields } from "./system-fields.ts";
import type { TypeSchema } from "./type-schema.ts";
import { type VersionConverter, Versions } from "./versions.ts";

/** What a write says about itself, the same for updates and applies. */
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
  /** Fields that the endpoint does not let anybody change: nobody comes to own them through it. */
  readonly resetFields?: FieldSet | undefined;
  /** Objects that are always there: what is in them can be owned, they cannot. */
  readonly unowned?: FieldSet | undefined;
  /** Needed where a kind is served in several versions that differ. */
  readonly converter?: VersionConverter | undefined;
}

export interface UpdateOptions extends WriteOptions {
  /** The object as it will be stored, defaults included. Its managedFields are what the client sent, if it sent any. */
  readonly updated: JsonObject;
}

/** `updated` with its managedFields. Neither object is modified; parts are shared. Throws only what the converter throws. */
export function updateManagedFields(options: UpdateOptions): JsonObject {
  const { live, updated } = options;
  if (live === undefined && managedFieldsOf(updated) === undefined) {
    const make = () => fieldsOfCreator(options);
    return ownedByCreator(options, cachedFieldSet(updated, options, make) ?? make());
  }
  return runSync(updateResumable(options));
}

/** The same, resting after each step, so that others may have their turn while a large object is looked at. Nothing is remembered of those. */
export function* updateResumable(options: UpdateOptions): Resumable<JsonObject> {
  const { live, updated } = options;
  if (live === undefined && managedFieldsOf(updated) === undefined)
    return ownedByCreator(options, yield* creatorResumable(options));
  const managers = startingManagers(options);
  // An object whose managers were cleared stays without: tracking starts again with the first apply.
  if (managers.size === 0 && live !== undefined) return withManagedFields(updated, []);
  // The managers are not compared: nobody owns them.
  const stored = live === undefined ? undefined : managedFieldsOf(live);
  const after = withManagedFields(updated, Array.isArray(stored) ? stored : []);
  yield;
  const written = yield* recordUpdate(managers, live ?? {}, after, options);
  yield;
  return withManagedFields(updated, encodeManagers(capUpdateManagers(written)));
}

function ownedByCreator(options: UpdateOptions, fields: FieldSet): JsonObject {
  if (isEmptyFieldSet(fields)) return withManagedFields(options.updated, []);
  return withManagedFields(options.updated, [encodeSorted(updaterOf(options), fields)]);
}

function fieldsOfCreator(options: UpdateOptions): FieldSet {
  const { updated, schema, resetFields } = options;
  return ownable(createdFields(updated, schema, resetFields), options);
}

function* creatorResumable(options: UpdateOptions): Resumable<FieldSet> {
  const { updated, schema, resetFields } = options;
  const created = yield* createdFieldsResumable(updated, schema, resetFields);
  yield;
  return ownable(created, options);
}

function ownable(created: FieldSet, { unowned }: UpdateOptions): FieldSet {
  return sortFieldSet(unowned === undefined ? created : subtractFieldSet(created, unowned));
}

/** The managers after `manager` has turned `before` into `after`. */
export function* recordUpdate(
  managers: Managers,
  before: JsonObject,
  after: JsonObject,
  options: WriteOptions,
): Resumable<Managers> {
  const versions = new Versions(options);
  const changes = new WriteChanges({
    before,
    after,
    versions,
    resetFields: options.resetFields,
  });
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

/** What of the written fields can be owned; undefined if nothing. */
function ownFields(
  written: FieldSet | undefined,
  { resetFields, unowned }: WriteOptions,
): FieldSet | undefined {
  if (written === undefined) return undefined;
  const changeable = resetFields === undefined ? written : subtractSubtrees(written, resetFields);
  const ownable = unowned === undefined ? changeable : subtractFieldSet(changeable, unowned);
  const fields = subtractFieldSet(ownable, systemFields);
  return isEmptyFieldSet(fields) ? undefined : fields;
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
 * The managers that the write starts from: those that the client sent, or the live ones if it sent none, sent something that cannot be read,
 * or writes to a subresource. Clients that do not know managedFields must not delete them by accident.
 */
function startingManagers({ live, updated, subresource }: UpdateOptions): Managers {
  const sent = managedFieldsOf(updated);
  const stored = live === undefined ? undefined : managedFieldsOf(live);
  if (sent === stored || (subresource ?? "") !== "" || !Array.isArray(sent)) {
    return readOwnManagers(live);
  }
  if (isReset(sent)) return new Map();
  if (jsonEqual(sent, stored)) return readOwnManagers(live);
  try {
    const managers = decodeManagers(sent);
    return managers.size === 0 ? readOwnManagers(live) : managers;
  } catch (error) {
    if (error instanceof Error) return readOwnManagers(live);
    throw error;
  }
}

/** `[]` and `[{}]` ask to forget all managers. */
function isReset(sent: readonly JsonValue[]): boolean {
  if (sent.length === 0) return true;
  const [first] = sent;
  return sent.length === 1 && isJsonObject(first) && Object.keys(first).length === 0;
}
