/** The paths of a value: those that whoever sets it owns, and those that come into being with it. */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { isEmptyObject } from "./empty-object.ts";
import { asMember, emptyFieldSet, type FieldSet, leaf, type MutableFieldSet } from "./field-set.ts";
import { itemElements } from "./list-item.ts";
import { fieldElement } from "./path-element.ts";
import {
  deducedType,
  type ListType,
  type MapType,
  memberType,
  shapeOf,
  type TypeSchema,
} from "./type-schema.ts";

/**
 * What somebody who applies this value owns: leaves, list items, and members of maps that no schema declares. Declared fields are
 * owned through what is in them, unless they are null or empty.
 */
export function ownedFields(value: JsonObject, type: TypeSchema): FieldSet {
  return walk(value, type, ownedMember) ?? emptyFieldSet;
}

/** The node of a value that is added or removed as a whole: every container counts, not only the leaves. */
export function presentFields(value: JsonValue, type: TypeSchema): FieldSet {
  return asMember(walk(value, type, presentMember) ?? leaf);
}

/** Members of maps that no schema declares, and list items, without the declared fields on the way. */
export function undeclaredFields(value: JsonObject, type: TypeSchema): FieldSet {
  return walk(value, type, undeclaredMember) ?? emptyFieldSet;
}

/** Whether a member of a map is owned itself, besides what is below it. */
type MemberRule = (value: JsonValue, declared: boolean) => boolean;

const ownedMember: MemberRule = (value, declared) =>
  !declared || value === null || (isJsonObject(value) && isEmptyObject(value));

const presentMember: MemberRule = () => true;

const undeclaredMember: MemberRule = (_value, declared) => !declared;

/** The node of a value, or undefined if nothing in it is owned. */
function walk(value: JsonValue, type: TypeSchema, rule: MemberRule): FieldSet | undefined {
  switch (shapeOf(type, value)) {
    case "map":
      return walkMap(value, type.map as MapType, rule);
    case "list":
      return walkList(value, type.list as ListType, rule);
    default:
      return leaf;
  }
}

function walkMap(value: JsonValue, type: MapType, rule: MemberRule): FieldSet | undefined {
  if (type.relationship === "atomic") return leaf;
  if (!isJsonObject(value)) return undefined;
  let node: MutableFieldSet | undefined;
  for (const name in value) {
    const item = value[name] as JsonValue;
    const below = walk(item, memberType(type, name) ?? deducedType, rule);
    const owned = rule(item, type.fields.has(name));
    if (below === undefined && !owned) continue;
    node ??= {};
    node[fieldElement(name)] = owned ? asMember(below ?? leaf) : (below as FieldSet);
  }
  return node;
}

function walkList(value: JsonValue, type: ListType, rule: MemberRule): FieldSet | undefined {
  if (type.relationship === "atomic") return leaf;
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const items = value as readonly JsonValue[];
  const elements = itemElements(type, items);
  if (elements === undefined) return leaf;
  const node: MutableFieldSet = {};
  for (const [i, element] of elements.entries()) {
    // Items that share their keys are owned as one.
    node[element] =
      node[element] === undefined
        ? asMember(walk(items[i] as JsonValue, type.item, rule) ?? leaf)
        : leaf;
  }
  return node;
}
