/**
 * Merges an applied configuration into the live object.
 *
 * Nothing is removed. Where both have a leaf the configuration wins. The result shares as much as
 * possible with its inputs, and is the live value itself where the configuration changes nothing.
 */
import {
  isEmptyObject,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  setMember,
} from "../json/index.ts";
import { itemElements } from "./list-item.ts";
import type { PathElement } from "./path-element.ts";
import {
  deducedType,
  type ListType,
  type MapType,
  memberType,
  shapeOf,
  type TypeSchema,
} from "./type-schema.ts";

export function mergeTyped(live: JsonObject, config: JsonObject, type: TypeSchema): JsonObject {
  return merge(live, config, type) as JsonObject;
}

function merge(live: JsonValue, config: JsonValue, type: TypeSchema): JsonValue {
  switch (shapeOf(type, config)) {
    case "map":
      return mergeMaps(live, config, type.map as MapType);
    case "list":
      return mergeLists(live, config, type.list as ListType);
    default:
      return mergeLeaves(live, config);
  }
}

function mergeLeaves(live: JsonValue, config: JsonValue): JsonValue {
  return jsonEqual(live, config) ? live : config;
}

function mergeMaps(live: JsonValue, config: JsonValue, type: MapType): JsonValue {
  if (type.relationship === "atomic" || !isJsonObject(live) || isEmptyObject(live)) {
    return mergeLeaves(live, config);
  }
  // A null is a map without members: it requests nothing.
  if (!isJsonObject(config)) return live;
  let merged: { [key: string]: JsonValue } | undefined;
  for (const name in config) {
    const item = config[name] as JsonValue;
    const current = Object.hasOwn(live, name) ? (live[name] as JsonValue) : undefined;
    const both =
      current === undefined ? item : merge(current, item, memberType(type, name) ?? deducedType);
    if (both === current) continue;
    merged ??= copyOf(live);
    setMember(merged, name, both);
  }
  return merged ?? live;
}

function copyOf(object: JsonObject): { [key: string]: JsonValue } {
  const copy: { [key: string]: JsonValue } = {};
  for (const key in object) setMember(copy, key, object[key] as JsonValue);
  return copy;
}

function mergeLists(live: JsonValue, config: JsonValue, type: ListType): JsonValue {
  if (type.relationship === "atomic" || !Array.isArray(live) || live.length === 0) {
    return mergeLeaves(live, config);
  }
  if (!Array.isArray(config) || config.length === 0) return live;
  const left = new Side(type, live);
  const right = new Side(type, config);
  if (left.elements === undefined || right.elements === undefined) {
    return mergeLeaves(live, config);
  }
  const merged = mergeInOrder(left as KeyedSide, right as KeyedSide, type.item);
  const unchanged = merged.length === live.length && merged.every((item, i) => item === live[i]);
  return unchanged ? live : merged;
}

/** The items of one list, by their path elements. */
class Side {
  readonly items: readonly JsonValue[];
  readonly elements: readonly PathElement[] | undefined;
  readonly #byElement = new Map<PathElement, JsonValue | undefined>();

  constructor(type: ListType, items: readonly JsonValue[]) {
    this.items = items;
    this.elements = itemElements(type, items);
    for (const [i, element] of this.elements?.entries() ?? []) {
      // Several items with the same keys are merged with nothing.
      this.#byElement.set(element, this.#byElement.has(element) ? undefined : items[i]);
    }
  }

  has(element: PathElement): boolean {
    return this.#byElement.has(element);
  }

  get(element: PathElement): JsonValue | undefined {
    return this.#byElement.get(element);
  }
}

interface KeyedSide extends Side {
  readonly elements: readonly PathElement[];
}

/**
 * Items that both lists have come in the order of the configuration, items of only one list stay
 * beside their neighbours. The steps are those of structured-merge-diff, because the order is
 * visible to clients.
 */
function mergeInOrder(left: KeyedSide, right: KeyedSide, type: TypeSchema): JsonValue[] {
  const merged: JsonValue[] = [];
  const taken = new Set<PathElement>();
  const shared = right.elements.filter((element) => left.has(element));
  let nextShared = 0;
  let l = 0;
  let r = 0;

  const take = (element: PathElement): void => {
    taken.add(element);
    const [live, config] = [left.get(element), right.get(element) as JsonValue];
    merged.push(live === undefined ? config : merge(live, config, type));
    r++;
    if (shared[nextShared] === element) nextShared++;
  };

  while (l < left.elements.length || r < right.elements.length) {
    const mine = left.elements[l];
    const theirs = right.elements[r];
    if (mine !== undefined && mine === theirs) {
      take(mine);
      l++;
    } else if (mine !== undefined && theirs !== undefined && isOutOfTurn(mine)) {
      l++;
    } else if (mine !== undefined && !right.has(mine)) {
      merged.push(left.items[l] as JsonValue);
      l++;
    } else {
      if (mine !== undefined && taken.has(mine)) l++;
      if (theirs !== undefined) take(theirs);
    }
  }
  return merged;

  /** Shared, but another shared item has to come first. */
  function isOutOfTurn(element: PathElement): boolean {
    const next = shared[nextShared];
    return right.has(element) && next !== undefined && next !== element;
  }
}
