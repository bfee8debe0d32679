/** Removes paths from a value. */
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/index.ts";
import { emptyFieldSet, type FieldSet, hasChildren, isMember } from "./field-set.ts";
import { itemElement } from "./list-item.ts";
import { fieldElement } from "./path-element.ts";
import {
  deducedType,
  type ListType,
  type MapType,
  memberType,
  shapeOf,
  type TypeSchema,
} from "./type-schema.ts";

/** A container from which all members are removed becomes null; its presence stays visible. */
export function removeLeavingNulls(
  value: JsonObject,
  paths: FieldSet,
  type: TypeSchema,
): JsonObject {
  return (remove(value, paths, type, () => null) ?? {}) as JsonObject;
}

/**
 * A container from which all members are removed is removed, too, unless its path is in `kept`:
 * then it stays, empty.
 */
export function removeCleanly(
  value: JsonObject,
  paths: FieldSet,
  type: TypeSchema,
  kept: FieldSet,
): JsonObject {
  const emptied: Emptied = (container, node) => {
    if (node === undefined || !isMember(node)) return undefined;
    return Array.isArray(container) ? [] : {};
  };
  return (remove(value, paths, type, emptied, kept) ?? {}) as JsonObject;
}

/**
 * The replacement of an emptied container; undefined removes it. `node` is its position in the set
 * of kept paths.
 */
type Emptied = (container: JsonValue, node: FieldSet | undefined) => JsonValue | undefined;

function remove(
  value: JsonValue,
  paths: FieldSet,
  type: TypeSchema,
  emptied: Emptied,
  kept?: FieldSet,
): JsonValue | undefined {
  switch (shapeOf(type, value)) {
    case "map":
      return removeFromMap(value, paths, type.map as MapType, emptied, kept);
    case "list":
      return removeFromList(value, paths, type.list as ListType, emptied, kept);
    default:
      return value;
  }
}

function removeFromMap(
  value: JsonValue,
  paths: FieldSet,
  type: MapType,
  emptied: Emptied,
  kept: FieldSet | undefined,
): JsonValue | undefined {
  if (!isJsonObject(value) || type.relationship === "atomic") return emptied(value, kept);
  const rest: { [key: string]: JsonValue } = {};
  let count = 0;
  for (const name of Object.keys(value)) {
    const element = fieldElement(name);
    const node = paths[element];
    if (node !== undefined && isMember(node)) continue;
    let item: JsonValue | undefined = value[name] as JsonValue;
    if (node !== undefined) {
      item = remove(item, node, memberType(type, name) ?? deducedType, emptied, kept?.[element]);
    }
    if (item === undefined) continue;
    setMember(rest, name, item);
    count++;
  }
  return count > 0 ? rest : emptied(value, kept);
}

function removeFromList(
  value: JsonValue,
  paths: FieldSet,
  type: ListType,
  emptied: Emptied,
  kept: FieldSet | undefined,
): JsonValue | undefined {
  if (!Array.isArray(value) || type.relationship === "atomic") return emptied(value, kept);
  const rest: JsonValue[] = [];
  for (const item of value as readonly JsonValue[]) {
    const { element } = itemElement(type, item);
    const node = element === undefined ? undefined : paths[element];
    if (node === undefined) {
      rest.push(item);
    } else if (!isMember(node)) {
      const left = remove(item, node, type.item, emptied, kept?.[element as string]);
      if (left !== undefined) rest.push(left);
    }
  }
  return rest.length > 0 ? rest : emptied(value, kept);
}

/**
 * The same paths with every declared field that has paths below it: such fields are removed when
 * all their members are.
 */
export function withDeclaredParents(set: FieldSet, type: TypeSchema): FieldSet {
  let result: { [element: string]: FieldSet } | undefined;
  for (const element in set) {
    const node = set[element] as FieldSet;
    if (!hasChildren(node)) continue;
    const name = element[0] === "f" ? element.slice(2) : undefined;
    let below: TypeSchema = {};
    if (name !== undefined && type.map !== undefined) below = memberType(type.map, name) ?? {};
    else if (name === undefined && type.list !== undefined) below = type.list.item;
    let parent = withDeclaredParents(node, below);
    if (name !== undefined && type.map?.fields.has(name) && !isMember(parent)) {
      parent = { ".": emptyFieldSet, ...parent };
    }
    if (parent === node) continue;
    result ??= { ...set };
    result[element] = parent;
  }
  return result ?? set;
}
