/**
 * Removes from a merged object the fields that its applier has applied before, does not apply any
 * more, and no other manager owns.
 *
 * The steps are those of structured-merge-diff: remove all fields that were applied last time, add
 * back the owned fields, add back the fields that the applier never owned. Each step works in the
 * version in which the fields are owned.
 */
import type { Resumable } from "../base/index.ts";
import {
  isEmptyObject,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  setMember,
} from "../json/index.ts";
import {
  emptyFieldSet,
  type FieldSet,
  intersectFieldSets,
  subtractFieldSet,
  unionFieldSets,
} from "./field-set.ts";
import type { Manager, Managers } from "./managed-fields.ts";
import type { TypeSchema } from "./type-schema.ts";
import { ownedFields, undeclaredFields } from "./typed-field-set.ts";
import { removeCleanly, removeLeavingNulls, withDeclaredParents } from "./typed-remove.ts";
import type { Versions } from "./versions.ts";

export interface PruneOptions {
  /** The live object with the configuration merged in. */
  readonly merged: JsonObject;
  readonly config: JsonObject;
  /** The applier's entry before this apply. */
  readonly last: Manager | undefined;
  /** All managers, the applier's new set included. */
  readonly managers: Managers;
  /** What is applied now. */
  readonly applied: FieldSet;
  readonly versions: Versions;
}

/** Yields after each step that visits the whole object. */
export function* prune(options: PruneOptions): Resumable<JsonObject> {
  const { merged, config, last, managers, applied, versions } = options;
  if (last === undefined) return merged;
  const version = last.apiVersion;
  // The common case: all fields are applied again.
  if (
    versions.areAlike(version, versions.apiVersion) &&
    isEmptyObject(subtractFieldSet(last.fields, applied))
  ) {
    return merged;
  }
  const lastMerged = versions.at(merged, version);
  if (lastMerged === undefined) return merged;
  const { object, type } = lastMerged;
  yield;
  const lastFields = withDeclaredParents(last.fields, type);
  yield;
  const stripped = removeLeavingNulls(object, lastFields, type);
  yield;
  const kept = yield* putBackOwned({ object, stripped, version, managers, versions });
  if (kept === undefined) return merged;
  const before = yield* declaredFields(object, type);
  const after = yield* declaredFields(kept, type);
  const missing = subtractFieldSet(before, after);
  yield;
  const gone = intersectFieldSets(missing, lastFields);
  if (isEmptyObject(gone)) return merged;
  yield;
  // Of the emptied containers, those stay that a manager owns as such.
  const staying = unionFieldSets(
    yield* ownedAt(managers, version, versions),
    undeclaredFields(kept, type),
  );
  yield;
  const pruned = removeCleanly(object, gone, type, staying);
  yield;
  const result = versions.at(pruned, versions.apiVersion, version)?.object;
  return result === undefined ? merged : withAppliedNulls(result, config);
}

/** An emptied map or list that is applied as null becomes null: the applier requested it. */
function withAppliedNulls(object: JsonObject, config: JsonObject): JsonObject {
  const result: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(object)) {
    const value = object[key] as JsonValue;
    const applied = member(config, key);
    const emptied = typeof value === "object" && value !== null && isEmptyObject(value);
    if (emptied && applied === null) setMember(result, key, null);
    else if (isJsonObject(value) && isJsonObject(applied)) {
      setMember(result, key, withAppliedNulls(value, applied));
    } else setMember(result, key, value);
  }
  return result;
}

/**
 * `stripped` with all fields of `object` that a manager owns, in the given version; undefined if
 * that version is no longer served.
 */
function* putBackOwned(options: {
  readonly object: JsonObject;
  readonly stripped: JsonObject;
  readonly version: string;
  readonly managers: Managers;
  readonly versions: Versions;
}): Resumable<JsonObject | undefined> {
  const { version, managers, versions } = options;
  let { object, stripped } = options;
  let from = version;
  // The fields' version comes first: a conversion may need removed fields.
  const apiVersions = new Set([version, ...[...managers.values()].map((m) => m.apiVersion)]);
  for (const apiVersion of apiVersions) {
    const whole = versions.at(object, apiVersion, from);
    const part = versions.at(stripped, apiVersion, from);
    yield;
    if (whole === undefined || part === undefined) continue;
    const { type } = whole;
    const owned = withDeclaredParents(yield* ownedAt(managers, apiVersion, versions), type);
    yield;
    const keep = unionFieldSets(yield* declaredFields(part.object, type), owned);
    yield;
    const goes = subtractFieldSet(yield* declaredFields(whole.object, type), keep);
    yield;
    stripped = removeLeavingNulls(whole.object, goes, type);
    object = whole.object;
    from = apiVersion;
    yield;
  }
  return versions.at(stripped, version, from)?.object;
}

function* declaredFields(object: JsonObject, type: TypeSchema): Resumable<FieldSet> {
  const owned = ownedFields(object, type);
  yield;
  const declared = withDeclaredParents(owned, type);
  yield;
  return declared;
}

function* ownedAt(managers: Managers, apiVersion: string, versions: Versions): Resumable<FieldSet> {
  let owned = emptyFieldSet;
  for (const manager of managers.values()) {
    if (versions.areAlike(manager.apiVersion, apiVersion)) {
      owned = unionFieldSets(owned, manager.fields);
      yield;
    }
  }
  return owned;
}
