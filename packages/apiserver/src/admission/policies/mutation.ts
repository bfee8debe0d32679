/** Applies the results of mutating policies' expressions to the object, yielding between steps. */

import {
  type FieldPath,
  fieldElement,
  formatPath,
  mergeTyped,
  type TypeSchema,
  typeErrorsOf,
} from "@kcp-ts/machinery/apply";
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  CelError,
  CelList,
  CelMap,
  CelOptional,
  CelStruct,
  type CelValue,
  type JsonCapacity,
  jsonCapacity,
  toJson,
} from "@kcp-ts/machinery/cel";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  applyJsonPatchResumable,
  isPatchError,
  type JsonPatchBudget,
  readJsonPatch,
} from "@kcp-ts/machinery/patch";
import { quote } from "@kcp-ts/machinery/status";

/**
 * The object with a JSON patch applied; throws an Error with a message for the author of the
 * policy.
 */
export function* applyJsonPatchExpression(
  object: JsonObject,
  value: CelValue,
  budget: JsonPatchBudget,
): Resumable<JsonObject> {
  const operations = toJson(value);
  if (operations instanceof CelError) throw new Error(operations.message);
  const patch = readJsonPatch({ value: operations as JsonValue, duplicates: [] });
  try {
    const patched = yield* applyJsonPatchResumable(object, patch, budget);
    if (isJsonObject(patched)) return patched;
  } catch (error) {
    // A failing test operation is a condition, not a failure.
    if (isPatchError(error) && error.message.endsWith(" failed: test failed")) return object;
    throw new Error(`JSON Patch: ${(error as Error).message}`);
  }
  throw new Error("a patch must leave an object");
}

/** The object with an apply configuration merged into it, as by server-side apply. */
export function* mergeApplyConfiguration(
  object: JsonObject,
  value: CelValue,
  type: TypeSchema,
): Resumable<JsonObject> {
  checkTypeNames(value, "Object");
  const { json, unset } = configurationOf(value);
  yield;
  const configuration = {
    ...json,
    apiVersion: object["apiVersion"],
    kind: object["kind"],
  } as JsonObject;
  const problems = typeErrorsOf(configuration, type);
  if (problems !== undefined)
    throw new Error(
      `error applying patch: failed to convert patch object to typed object: ${problems}`,
    );
  yield;
  const atomic = atomicPaths(configuration, type);
  if (atomic.length > 0)
    throw new Error(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(", ")}`,
    );
  yield;
  return without(mergeTyped(object, configuration, type), unset);
}

/** `Object.spec` is only valid for the field `spec` of `Object`. */
function checkTypeNames(value: CelValue, expected: string): void {
  if (value instanceof CelStruct) {
    if (value.typeName !== expected)
      throw new Error(
        `unexpected type name ${quote(value.typeName)}, expected ${quote(expected)}, which matches field name path from root Object type`,
      );
    for (const [name, member] of value.fields) checkTypeNames(member, `${expected}.${name}`);
  } else if (value instanceof CelOptional) {
    if (value.value !== undefined) checkTypeNames(value.value, expected);
  } else if (value instanceof CelList) {
    for (let at = 0; at < value.size; at++) {
      const item = value.get(at);
      if (!(item instanceof CelError)) checkTypeNames(item, expected);
    }
  } else if (value instanceof CelMap) {
    for (const key of value.keys()) {
      const item = value.find(key);
      if (item !== undefined && !(item instanceof CelError))
        checkTypeNames(item, `${expected}.${String(key)}`);
    }
  }
}

/**
 * The configuration as JSON, and the paths to remove: fields that are set to an optional without a
 * value.
 */
function configurationOf(value: CelValue): {
  readonly json: JsonObject;
  readonly unset: readonly (readonly string[])[];
} {
  const unset: string[][] = [];
  const json = struct(value, [], { unset, capacity: jsonCapacity() });
  if (!isJsonObject(json)) throw new Error("the apply configuration is no object");
  return { json, unset };
}

interface Conversion {
  readonly unset: string[][];
  readonly capacity: JsonCapacity;
}

function struct(value: CelValue, path: readonly string[], conversion: Conversion): JsonValue {
  if (value instanceof CelStruct) {
    const object: { [member: string]: JsonValue } = Object.create(null);
    for (const [name, member] of value.fields) {
      if (member instanceof CelOptional && member.value === undefined)
        conversion.unset.push([...path, name]);
      else object[name] = struct(member, [...path, name], conversion);
    }
    return { ...object };
  }
  if (value instanceof CelOptional && value.value !== undefined)
    return struct(value.value, path, conversion);
  const json = toJson(value, conversion.capacity);
  if (json instanceof CelError) throw new Error(json.message);
  return plain(json as JsonValue);
}

/**
 * Converts records without a prototype into ordinary objects, which the rest of the code expects.
 */
function plain(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(plain);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

function without(object: JsonObject, paths: readonly (readonly string[])[]): JsonObject {
  return paths.reduce((current, path) => removed(current, path), object);
}

function removed(object: JsonObject, [first, ...rest]: readonly string[]): JsonObject {
  if (first === undefined || !Object.hasOwn(object, first)) return object;
  const { [first]: member, ...others } = object;
  if (rest.length === 0) return others;
  return isJsonObject(member) ? { ...object, [first]: removed(member, rest) } : object;
}

/** The paths at which the configuration would replace an atomic list, map or struct. */
function atomicPaths(configuration: JsonObject, type: TypeSchema): string[] {
  const found: FieldPath[] = [];
  collectAtomic(configuration, type, [], found);
  return found.map(formatPath);
}

function collectAtomic(
  value: JsonValue,
  { map, list }: TypeSchema,
  path: FieldPath,
  found: FieldPath[],
): void {
  if (Array.isArray(value)) {
    if (list === undefined) return;
    if (list.relationship === "atomic") {
      found.push(path);
      return;
    }
    for (const [at, item] of (value as readonly JsonValue[]).entries())
      collectAtomic(item, list.item, [...path, `i:${at}`], found);
  } else if (isJsonObject(value) && map !== undefined) {
    if (map.relationship === "atomic") {
      found.push(path);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      const type = map.fields.get(name)?.type ?? map.additional;
      if (type !== undefined) collectAtomic(member, type, [...path, fieldElement(name)], found);
    }
  }
}
