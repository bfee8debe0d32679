/**
 * Sets of field paths, and their algebra.
 *
 * A set is the FieldsV1 trie of the wire itself: no decoding, no encoding, and parts that an
 * operation does not touch are shared.
 *
 *   {"f:spec":{".":{},"f:replicas":{}}}   =   { .spec, .spec.replicas }
 *
 * A node without members is in the set; a node with members is in the set if it has a `.`. Sets are
 * never modified. Operations keep no order among the members of a node; `sortFieldSet`
 * (fields-v1.ts) gives the order of the wire.
 */
import { isEmptyObject, type JsonObject, shallowCopy } from "../json/index.ts";
import type { FieldPath, PathElement } from "./path-element.ts";

export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

export type MutableFieldSet = { [element: PathElement]: FieldSet };

export const emptyFieldSet: FieldSet = Object.freeze({});

/**
 * The node of a path that is in the set and has no paths below it. It looks like the empty set;
 * only its position distinguishes the two.
 */
export const leaf: FieldSet = emptyFieldSet;

export const self: PathElement = ".";

/** Whether the path that leads to this node is in the set. */
export function isMember(node: FieldSet): boolean {
  return node[self] !== undefined || isEmptyObject(node);
}

/** The same node, its own path included. */
export function asMember(node: FieldSet): FieldSet {
  return isMember(node) ? node : { [self]: leaf, ...node };
}

/** A set of the given paths. Parents are not included unless they are given themselves. */
export function fieldSetOf(...paths: readonly FieldPath[]): FieldSet {
  let set = emptyFieldSet;
  for (const path of paths) {
    if (path.length === 0) continue;
    set = unionFieldSets(
      set,
      path.reduceRight<FieldSet>((node, element) => ({ [element]: node }), leaf),
    );
  }
  return set;
}

export function hasPath(set: FieldSet, path: FieldPath): boolean {
  let node = set;
  for (const element of path) {
    const next = node[element];
    if (next === undefined) return false;
    node = next;
  }
  return path.length > 0 && isMember(node);
}

/** Every path of the set: those of one level before those below them. */
export function* pathsOf(set: FieldSet, prefix: FieldPath = []): Generator<FieldPath> {
  for (const element of Object.keys(set)) {
    if (element !== self && isMember(set[element] as FieldSet)) yield [...prefix, element];
  }
  for (const element of Object.keys(set)) {
    if (element !== self) yield* pathsOf(set[element] as FieldSet, [...prefix, element]);
  }
}

export function unionFieldSets(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptyObject(b)) return a;
  return isEmptyObject(a) ? b : unionMembers(a, b);
}

/** The union of two nodes at the same path, that path included if it is in either set. */
export function unionNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isEmptyObject(b)) return asMember(a);
  return isEmptyObject(a) ? asMember(b) : unionMembers(a, b);
}

function unionMembers(a: FieldSet, b: FieldSet): FieldSet {
  let union: MutableFieldSet | undefined;
  for (const element in b) {
    const node = a[element];
    const other = b[element] as FieldSet;
    const both = node === undefined ? other : unionNodes(node, other);
    if (both === node) continue;
    union ??= shallowCopy(a as JsonObject) as MutableFieldSet;
    union[element] = both;
  }
  return union ?? a;
}

/** The paths of `a` that are not in `b`. A path stays although a parent of it is in `b`. */
export function subtractFieldSet(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptyObject(a) || isEmptyObject(b)) return a;
  return withoutMembers(a, b, subtractNodes) ?? emptyFieldSet;
}

function subtractNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (a === b) return undefined;
  if (isEmptyObject(a)) return isMember(b) ? undefined : a;
  // A leaf of `b` removes this path and nothing below it.
  const members = isEmptyObject(b) ? ownPathOnly : b;
  return withoutMembers(a, members, subtractNodes);
}

const ownPathOnly: FieldSet = Object.freeze({ [self]: leaf });

/** The paths of `a` that are neither in `b` nor below a path in `b`. */
export function subtractSubtrees(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptyObject(a) || isEmptyObject(b)) return a;
  return withoutMembers(a, b, subtractSubtreeNodes) ?? emptyFieldSet;
}

function subtractSubtreeNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (isMember(b)) return undefined;
  return isEmptyObject(a) ? a : withoutMembers(a, b, subtractSubtreeNodes);
}

type SubtractNodes = (a: FieldSet, b: FieldSet) => FieldSet | undefined;

/**
 * `a` without the paths that `subtract` removes; undefined when nothing is left, a leaf when only
 * the path itself is.
 */
function withoutMembers(a: FieldSet, b: FieldSet, subtract: SubtractNodes): FieldSet | undefined {
  if (!haveCommonMember(a, b)) return a;
  // Built as a new object rather than copied and reduced: deleting members makes objects slow.
  const rest: MutableFieldSet = {};
  let changed = false;
  let children = false;
  for (const element in a) {
    const node = a[element] as FieldSet;
    const other = b[element];
    let left: FieldSet | undefined = node;
    if (other !== undefined) left = element === self ? undefined : subtract(node, other);
    if (left !== node) changed = true;
    if (left === undefined) continue;
    rest[element] = left;
    if (element !== self) children = true;
  }
  if (!changed) return a;
  if (children) return rest;
  return isEmptyObject(rest) ? undefined : leaf;
}

function haveCommonMember(a: FieldSet, b: FieldSet): boolean {
  for (const element in b) if (a[element] !== undefined) return true;
  return false;
}

/** The paths that are in both. */
export function intersectFieldSets(a: FieldSet, b: FieldSet): FieldSet {
  return intersectMembers(a, b) ?? emptyFieldSet;
}

function intersectNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (a === b) return a;
  const member = isMember(a) && isMember(b);
  const children = intersectMembers(a, b);
  if (children === undefined) return member ? leaf : undefined;
  return member ? asMember(children) : children;
}

function intersectMembers(a: FieldSet, b: FieldSet): FieldSet | undefined {
  let both: MutableFieldSet | undefined;
  for (const element in b) {
    const node = a[element];
    if (node === undefined || element === self) continue;
    const shared = intersectNodes(node, b[element] as FieldSet);
    if (shared === undefined) continue;
    both ??= {};
    both[element] = shared;
  }
  return both;
}

/** The paths that have no paths below them. */
export function leavesOf(set: FieldSet): FieldSet {
  const leaves: MutableFieldSet = {};
  for (const element of Object.keys(set)) {
    if (element !== self) leaves[element] = leavesOf(set[element] as FieldSet);
  }
  return leaves;
}

/** Whether two sets hold the same paths. */
export function equalFieldSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  let members = 0;
  for (const element in a) {
    const other = b[element];
    if (other === undefined || !equalFieldSets(a[element] as FieldSet, other)) return false;
    members++;
  }
  for (const _ in b) members--;
  return members === 0;
}

export function hasChildren(node: FieldSet): boolean {
  for (const element in node) if (element !== self) return true;
  return false;
}
