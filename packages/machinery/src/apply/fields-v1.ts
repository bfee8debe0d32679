/** FieldsV1 on the wire: parsing of a client's FieldsV1, and the order of members. */
import { type Resumable, runSync, YieldCounter } from "../base/index.ts";
import { isJsonObject, type JsonValue, jsonDepthMax } from "../json/index.ts";
import {
  emptyFieldSet,
  type FieldSet,
  hasChildren,
  leaf,
  type MutableFieldSet,
  self,
  unionNodes,
} from "./field-set.ts";
import {
  normalizeElement,
  type PathElement,
  sortElements,
  sortElementsResumable,
} from "./path-element.ts";

/** Elements of nodes that are read, or sorted, without yielding: less than a millisecond. */
const elementsPerYield = 200;

/**
 * Parses untrusted FieldsV1. Path elements are normalised and elements of unknown kinds are
 * dropped, as a later version may know more kinds. Throws an Error with the reason.
 */
export function readFieldSet(json: JsonValue): FieldSet {
  return runSync(readFieldSetResumable(json));
}

/** The same for a set that may be large, yielding between its parts. */
export function* readFieldSetResumable(json: JsonValue): Resumable<FieldSet> {
  const node = yield* readNode(json, new YieldCounter(elementsPerYield));
  return hasChildren(node) ? withoutSelf(node) : emptyFieldSet;
}

function* readNode(json: JsonValue, pace: YieldCounter): Resumable<FieldSet> {
  if (!isJsonObject(json)) throw new Error("expected an object of fields");
  const node: MutableFieldSet = {};
  for (const key of Object.keys(json)) {
    if (key === self) {
      node[self] = leaf;
      continue;
    }
    if (pace.isTime()) yield;
    const element = normalizeElement(key);
    if (element === undefined) continue;
    const child = yield* readNode(json[key] as JsonValue, pace);
    const known = node[element];
    node[element] = known === undefined ? child : unionNodes(known, child);
  }
  return hasChildren(node) ? node : leaf;
}

function withoutSelf(node: FieldSet): FieldSet {
  if (node[self] === undefined) return node;
  const { [self]: _, ...rest } = node;
  return rest;
}

/**
 * The depth of a written set; fields below are owned as one. The set is stored inside its object, a
 * few levels down, and the object must stay within the depth that the parser accepts.
 */
export const fieldPathElementsMax = jsonDepthMax - 100;

/**
 * The same set with the members of every node in the order of the wire; the identical object if
 * they already are.
 */
export function sortFieldSet(set: FieldSet, depth = 0): FieldSet {
  if (depth >= fieldPathElementsMax) return leaf;
  const elements = Object.keys(set);
  const order = sortElements(elements);
  let sorted: MutableFieldSet | undefined = order === elements ? undefined : {};
  // Counted, not iterated: this is on the path of every create, and pairs of an iterator cost more
  // than the work.
  for (let i = 0; i < order.length; i++) {
    const element = order[i] as PathElement;
    const node = set[element] as FieldSet;
    const sortedNode = node === leaf ? node : sortFieldSet(node, depth + 1);
    if (sorted === undefined && sortedNode !== node) sorted = firstMembers(set, order.slice(0, i));
    if (sorted !== undefined) sorted[element] = sortedNode;
  }
  return sorted ?? set;
}

/** The same as `sortFieldSet` for a large set, yielding between its parts. */
export function* sortFieldSetResumable(set: FieldSet): Resumable<FieldSet> {
  return yield* sortNode(set, 0, new YieldCounter(elementsPerYield));
}

/** Whether a set has more elements than are sorted without yielding. */
export function isLargeFieldSet(set: FieldSet): boolean {
  return countDown(set, elementsPerYield) < 0;
}

function countDown(set: FieldSet, most: number): number {
  let left = most;
  for (const element in set) {
    left--;
    if (left < 0) return left;
    left = countDown(set[element] as FieldSet, left);
  }
  return left;
}

function* sortNode(set: FieldSet, depth: number, pace: YieldCounter): Resumable<FieldSet> {
  if (depth >= fieldPathElementsMax) return leaf;
  const sorted: MutableFieldSet = {};
  for (const element of yield* sortElementsResumable(Object.keys(set))) {
    if (pace.isTime()) yield;
    const node = set[element] as FieldSet;
    sorted[element] = hasChildren(node) ? yield* sortNode(node, depth + 1, pace) : leaf;
  }
  return sorted;
}

function firstMembers(set: FieldSet, elements: readonly PathElement[]): MutableFieldSet {
  const members: MutableFieldSet = {};
  for (const element of elements) members[element] = set[element] as FieldSet;
  return members;
}
