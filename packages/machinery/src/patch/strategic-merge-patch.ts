/**
 * Strategic merge patch: a merge patch that knows which lists are merged by key, and that carries
 * directives.
 *
 *   $patch: replace | delete              on a map or a list item
 *   $retainKeys: [names]                  members of the live map that are not named go away
 *   $setElementOrder/<list>: [items]      the order that the merged list gets
 *   $deleteFromPrimitiveList/<list>: []   items that a merged list of scalars loses
 *
 * The rules are those of apimachinery's strategicpatch. Nulls and directives never reach the
 * result, also where upstream leaves it to the decoder to drop them: our objects have no decoder
 * behind them.
 */
import { isJsonObject, type JsonObject, type JsonValue, member, setMember } from "../json/index.ts";
import { PatchError } from "./patch-error.ts";
import type { PatchSchema } from "./patch-schema.ts";
import {
  directives,
  isParallelDirective,
  listNameOf,
  withoutDirectives,
} from "./strategic-directive.ts";
import { unknownPatchType } from "./strategic-error.ts";
import { deleteScalars, mergeList, orderList } from "./strategic-list.ts";

/**
 * Returns a new object; `original` and `patch` are not modified. Throws a `malformed` or
 * `unmergeable` PatchError.
 */
export function applyStrategicMergePatch(
  original: JsonObject,
  patch: JsonValue,
  schema: PatchSchema,
): JsonObject {
  if (!isJsonObject(patch)) throw new PatchError("malformed", "invalid JSON document");
  return mergeMap(original, patch, schema);
}

function mergeMap(
  original: JsonObject,
  patch: JsonObject,
  schema: PatchSchema | undefined,
): JsonObject {
  const marker = member(patch, directives.patch);
  if (marker !== undefined) return replaceMap(marker, patch);

  const merged = retainKeys(original, patch);
  const ordered = mergeOrderedLists(merged, patch, schema);
  for (const key of Object.keys(patch)) {
    if (isParallelDirective(key)) continue;
    if (!ordered.has(key)) mergeMember(merged, key, patch[key] as JsonValue, schema);
  }
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(directives.deleteFromPrimitiveList)) continue;
    const name = listNameOf(key, directives.deleteFromPrimitiveList);
    const list = member(merged, name);
    if (Array.isArray(list)) {
      setMember(merged, name, deleteScalars(list, patch[key] as JsonValue));
    }
  }
  return merged;
}

type MutableObject = { [key: string]: JsonValue };

function mergeMember(
  merged: MutableObject,
  key: string,
  value: JsonValue,
  schema: PatchSchema | undefined,
): void {
  if (value === null) {
    delete merged[key];
    return;
  }
  const current = member(merged, key);
  const field = schema?.field(key);
  let result: JsonValue | undefined;
  if (isJsonObject(current) && isJsonObject(value) && field?.strategy !== "replace") {
    result = mergeMap(current, value, field?.schema);
  } else if (Array.isArray(current) && Array.isArray(value) && field?.strategy === "merge") {
    result = mergeList(current, value, field, mergeMap);
  } else {
    result = withoutDirectives(value);
  }
  if (result === undefined) delete merged[key];
  else setMember(merged, key, result);
}

function replaceMap(marker: JsonValue, patch: JsonObject): JsonObject {
  if (marker === "delete") return {};
  if (marker !== "replace") throw unknownPatchType(marker, patch);
  const replacement: MutableObject = {};
  for (const key of Object.keys(patch)) {
    if (key === directives.patch || isParallelDirective(key)) continue;
    const value = patch[key] as JsonValue;
    const plain = value === null ? undefined : withoutDirectives(value);
    if (plain !== undefined) setMember(replacement, key, plain);
  }
  return replacement;
}

/**
 * A copy of `original` with only the keys that `$retainKeys` names, or with all of them when it is
 * absent.
 */
function retainKeys(original: JsonObject, patch: JsonObject): MutableObject {
  const list = member(patch, directives.retainKeys);
  const retained = list === undefined ? undefined : retainedNames(list, patch);
  const copy: MutableObject = {};
  for (const key of Object.keys(original)) {
    if (retained === undefined || retained.has(key)) {
      setMember(copy, key, original[key] as JsonValue);
    }
  }
  return copy;
}

function retainedNames(list: JsonValue, patch: JsonObject): ReadonlySet<JsonValue> {
  if (!Array.isArray(list)) throw new PatchError("malformed", "invalid patch format of retainKeys");
  const names = new Set<JsonValue>(list);
  for (const key of Object.keys(patch)) {
    if (patch[key] !== null && !isParallelDirective(key) && !names.has(key)) {
      throw new PatchError("malformed", "invalid patch format of retainKeys");
    }
  }
  return names;
}

/**
 * Merges the lists with an order, and returns the members of the patch that are thereby processed.
 */
function mergeOrderedLists(
  merged: MutableObject,
  patch: JsonObject,
  schema: PatchSchema | undefined,
): ReadonlySet<string> {
  const done = new Set<string>();
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(directives.setElementOrder)) continue;
    const name = listNameOf(key, directives.setElementOrder);
    const list = orderList({
      live: member(merged, name),
      patch: member(patch, name),
      order: patch[key] as JsonValue,
      field: schema?.field(name) ?? {},
      mergeMap,
    });
    if (list !== undefined) {
      setMember(merged, name, list);
      done.add(name);
    }
  }
  return done;
}
