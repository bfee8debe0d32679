/** The paths of a value: those that its writer owns, and those that are created with it. */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { isEmptyObject, isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { emptyFieldSet, type FieldSet, leaf, type MutableFieldSet, self } from "./field-set.ts";
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
 * The paths that an applier of this value owns: leaves, list items, and members of maps that no
 * schema declares. Declared fields are owned through their members, unless they are null or empty.
 */
export function ownedFields(value: JsonObject, type: TypeSchema): FieldSet {
  return walk(value, type, ownedMember, notItself) ?? emptyFieldSet;
}

/**
 * The node of a value that is added or removed completely: every container counts, not only the
 * leaves.
 */
export function presentFields(value: JsonValue, type: TypeSchema): FieldSet {
  return walk(value, type, presentMember, itself) ?? leaf;
}

/** Members of one map that are processed without yielding: less than a millisecond. */
export const membersPerYield = 500;

/** The same as `presentFields` for a value that may be large, yielding meanwhile. */
export function* presentFieldsResumable(value: JsonValue, type: TypeSchema): Resumable<FieldSet> {
  const isMap = shapeOf(type, value) === "map" && type.map?.relationship !== "atomic";
  if (!isMap || !isJsonObject(value)) return presentFields(value, type);
  const pace = new YieldCounter(membersPerYield);
  let node: MutableFieldSet | undefined;
  for (const name in value) {
    const itemType = memberType(type.map as MapType, name) ?? deducedType;
    node ??= newNode(itself);
    node[fieldElement(name)] = yield* presentFieldsResumable(value[name] as JsonValue, itemType);
    if (pace.isTime()) yield;
  }
  return node ?? leaf;
}

/**
 * Members of maps that no schema declares, and list items, without the declared fields on the way.
 */
export function undeclaredFields(value: JsonObject, type: TypeSchema): FieldSet {
  return walk(value, type, undeclaredMember, notItself) ?? emptyFieldSet;
}

/** Whether a member of a map is owned itself, in addition to its descendants. */
type MemberRule = (value: JsonValue, declared: boolean) => boolean;

const ownedMember: MemberRule = (value, declared) =>
  !declared || value === null || (isJsonObject(value) && isEmptyObject(value));

const presentMember: MemberRule = () => true;

const undeclaredMember: MemberRule = (_value, declared) => !declared;

/** Whether the path that leads to a value is in the set. */
type Membership = "itself" | "not itself";
const itself: Membership = "itself";
const notItself: Membership = "not itself";

/** The node of a value, or undefined if neither it nor any descendant is owned. */
function walk(
  value: JsonValue,
  type: TypeSchema,
  rule: MemberRule,
  membership: Membership,
): FieldSet | undefined {
  switch (shapeOf(type, value)) {
    case "map":
      return walkMap(value, type.map as MapType, rule, membership);
    case "list":
      return walkList(value, type.list as ListType, rule, membership);
    default:
      return leaf;
  }
}

function walkMap(
  value: JsonValue,
  type: MapType,
  rule: MemberRule,
  membership: Membership,
): FieldSet | undefined {
  if (type.relationship === "atomic") return leaf;
  let node: MutableFieldSet | undefined;
  if (isJsonObject(value)) {
    for (const name in value) {
      const item = value[name] as JsonValue;
      const below = rule(item, type.fields.has(name)) ? itself : notItself;
      const itemNode = walk(item, memberType(type, name) ?? deducedType, rule, below);
      if (itemNode === undefined) continue;
      node ??= newNode(membership);
      node[fieldElement(name)] = itemNode;
    }
  }
  return node ?? (membership === itself ? leaf : undefined);
}

function walkList(
  value: JsonValue,
  type: ListType,
  rule: MemberRule,
  membership: Membership,
): FieldSet | undefined {
  if (type.relationship === "atomic") return leaf;
  if (!Array.isArray(value) || value.length === 0) return membership === itself ? leaf : undefined;
  const items = value as readonly JsonValue[];
  const elements = itemElements(type, items);
  if (elements === undefined) return leaf;
  const node = newNode(membership);
  for (const [i, element] of elements.entries()) {
    // Items with the same keys are owned as one.
    node[element] =
      node[element] === undefined
        ? (walk(items[i] as JsonValue, type.item, rule, itself) as FieldSet)
        : leaf;
  }
  return node;
}

function newNode(membership: Membership): MutableFieldSet {
  return membership === itself ? { [self]: leaf } : {};
}
