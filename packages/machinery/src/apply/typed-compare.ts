/** The changes between two values of one type, as sets of paths. */
import {
  isEmptyObject,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
} from "../json/index.ts";
import {
  emptyFieldSet,
  type FieldSet,
  leaf,
  type MutableFieldSet,
  subtractSubtrees,
  unionFieldSets,
} from "./field-set.ts";
import { itemElements } from "./list-item.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import {
  deducedType,
  type ListType,
  type MapType,
  memberType,
  type Shape,
  shapeOf,
  type TypeSchema,
} from "./type-schema.ts";
import { presentFields } from "./typed-field-set.ts";

/** No path is in more than one of the three. */
export interface Changes {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/**
 * Never throws: a value that does not match the type counts as one value, because a live object may
 * be older than its schema.
 */
export function compareTyped(before: JsonObject, after: JsonObject, type: TypeSchema): Changes {
  const walker = new Comparison();
  walker.compare(before, after, type);
  return {
    added: walker.added ?? emptyFieldSet,
    modified: walker.modified ?? emptyFieldSet,
    removed: walker.removed ?? emptyFieldSet,
  };
}

/** The changes outside the given paths and what is below them. */
export function withoutChangesIn(changes: Changes, paths: FieldSet): Changes {
  return {
    added: subtractSubtrees(changes.added, paths),
    modified: subtractSubtrees(changes.modified, paths),
    removed: subtractSubtrees(changes.removed, paths),
  };
}

/** The paths that have a new value. */
export function changedFields(changes: Changes): FieldSet {
  return unionFieldSets(changes.modified, changes.added);
}

/** Collects the changes of one node; nothing is allocated for unchanged nodes. */
class Comparison {
  added: MutableFieldSet | undefined;
  modified: MutableFieldSet | undefined;
  removed: MutableFieldSet | undefined;

  /** Returns whether the node itself, as one value, was modified. */
  compare(before: JsonValue, after: JsonValue, type: TypeSchema): boolean {
    if (before === after) return false;
    const shape = shapeOf(type, after);
    const shapeBefore = shapeOf(type, before);
    const modified = this.#compareAs(shape, before, after, type);
    // A value that changes its shape is compared as both: the old shape is removed, the new one is
    // added.
    return shape === shapeBefore
      ? modified
      : this.#compareAs(shapeBefore, before, after, type) || modified;
  }

  #compareAs(shape: Shape, before: JsonValue, after: JsonValue, type: TypeSchema): boolean {
    switch (shape) {
      case "map":
        return this.#compareMaps(before, after, type.map as MapType);
      case "list":
        return this.#compareLists(before, after, type.list as ListType);
      default:
        return !jsonEqual(before, after);
    }
  }

  #compareMaps(before: JsonValue, after: JsonValue, type: MapType): boolean {
    const old = isJsonObject(before) ? before : {};
    const now = isJsonObject(after) ? after : {};
    if (type.relationship === "atomic" || (isEmptyObject(old) && isEmptyObject(now))) {
      return !jsonEqual(before, after);
    }
    for (const name in now) {
      const item = now[name] as JsonValue;
      const itemType = memberType(type, name) ?? deducedType;
      if (Object.hasOwn(old, name)) {
        const previous = old[name] as JsonValue;
        if (previous !== item) this.#compareItem(fieldElement(name), previous, item, itemType);
      } else {
        this.#add(fieldElement(name), presentFields(item, itemType));
      }
    }
    for (const name in old) {
      if (Object.hasOwn(now, name)) continue;
      const itemType = memberType(type, name) ?? deducedType;
      this.#remove(fieldElement(name), presentFields(old[name] as JsonValue, itemType));
    }
    return false;
  }

  #compareLists(before: JsonValue, after: JsonValue, type: ListType): boolean {
    const old = Array.isArray(before) ? (before as readonly JsonValue[]) : [];
    const now = Array.isArray(after) ? (after as readonly JsonValue[]) : [];
    if (type.relationship === "atomic" || (old.length === 0 && now.length === 0)) {
      return !jsonEqual(before, after);
    }
    const oldItems = groupItems(type, old);
    const newItems = groupItems(type, now);
    if (oldItems === undefined || newItems === undefined) return !jsonEqual(before, after);
    for (const [element, items] of newItems) {
      this.#compareGroups(element, oldItems.get(element) ?? [], items, type.item);
    }
    for (const [element, items] of oldItems) {
      if (!newItems.has(element)) this.#compareGroups(element, items, [], type.item);
    }
    return false;
  }

  /** Items with the same keys: single ones are compared, duplicates are one value. */
  #compareGroups(
    element: PathElement,
    old: readonly JsonValue[],
    now: readonly JsonValue[],
    type: TypeSchema,
  ): void {
    const [before, after] = [old[0], now[0]];
    if (old.length > 1 && now.length > 1) {
      if (!jsonEqual(old, now)) this.#modify(element);
    } else if (old.length > 1) {
      if (after !== undefined) this.#add(element, presentFields(after, type));
      this.#remove(element, leaf);
    } else if (now.length > 1) {
      if (before !== undefined) this.#remove(element, presentFields(before, type));
      this.#add(element, leaf);
    } else if (before === undefined) {
      this.#add(element, presentFields(after as JsonValue, type));
    } else if (after === undefined) {
      this.#remove(element, presentFields(before, type));
    } else {
      this.#compareItem(element, before, after, type);
    }
  }

  #compareItem(element: PathElement, before: JsonValue, after: JsonValue, type: TypeSchema): void {
    const below = new Comparison();
    if (below.compare(before, after, type)) this.#modify(element);
    if (below.added !== undefined) this.#add(element, below.added);
    if (below.removed !== undefined) this.#remove(element, below.removed);
    if (below.modified !== undefined) {
      this.modified ??= {};
      this.modified[element] = below.modified;
    }
  }

  #add(element: PathElement, node: FieldSet): void {
    this.added ??= {};
    this.added[element] = node;
  }

  #remove(element: PathElement, node: FieldSet): void {
    this.removed ??= {};
    this.removed[element] = node;
  }

  #modify(element: PathElement): void {
    this.modified ??= {};
    this.modified[element] = leaf;
  }
}

function groupItems(
  type: ListType,
  items: readonly JsonValue[],
): ReadonlyMap<PathElement, readonly JsonValue[]> | undefined {
  const elements = itemElements(type, items);
  if (elements === undefined) return undefined;
  const groups = new Map<PathElement, JsonValue[]>();
  for (const [i, element] of elements.entries()) {
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [items[i] as JsonValue]);
    else group.push(items[i] as JsonValue);
  }
  return groups;
}
