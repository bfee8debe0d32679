/** The paths of a value: those that its writer owns, and those that are created with it. */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { isEmptyObject, isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { emptyFieldSet, type FieldSet, leaf, type MutableFieldSet, self } from "./field-set.ts";
import { itemElement, itemElements } from "./list-item.ts";
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

/** Members and items that are processed without yielding: less than a millisecond. */
export const membersPerYield = 200;

/** The same as `presentFields` for a value that may be large, yielding meanwhile. */
export function presentFieldsResumable(value: JsonValue, type: TypeSchema): Resumable<FieldSet> {
  return present(value, type, new YieldCounter(membersPerYield));
}

function* present(value: JsonValue, type: TypeSchema, pace: YieldCounter): Resumable<FieldSet> {
  switch (shapeOf(type, value)) {
    case "map":
      return yield* presentMap(value, type.map as MapType, pace);
    case "list":
      return yield* presentList(value, type.list as ListType, pace);
    default:
      return leaf;
  }
}

function* presentMap(value: JsonValue, type: MapType, pace: YieldCounter): Resumable<FieldSet> {
  if (type.relationship === "atomic" || !isJsonObject(value)) return leaf;
  let node: MutableFieldSet | undefined;
  for (const name in value) {
    if (pace.isTime()) yield;
    const item = value[name] as JsonValue;
    node ??= newNode(itself);
    node[fieldElement(name)] = isContainer(item)
      ? yield* present(item, memberType(type, name) ?? deducedType, pace)
      : leaf;
  }
  return node ?? leaf;
}

function* presentList(value: JsonValue, type: ListType, pace: YieldCounter): Resumable<FieldSet> {
  if (type.relationship === "atomic" || !Array.isArray(value) || value.length === 0) return leaf;
  const node = newNode(itself);
  for (const item of value as readonly JsonValue[]) {
    if (pace.isTime()) yield;
    const { element } = itemElement(type, item);
    // A list with such an item is one value.
    if (element === undefined) return leaf;
    // Items with the same keys are owned as one.
    node[element] =
      node[element] === undefined && isContainer(item)
        ? yield* present(item, type.item, pace)
        : leaf;
  }
  return node;
}

/** Scalars are leaves whatever their type is. */
function isContainer(value: JsonValue): boolean {
  return typeof value === "object" && value !== null;
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
