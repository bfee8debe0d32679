/**
 * Lists in strategic merge patches: merging by key or as sets, deleting scalars, and the order of
 * the result.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from "../json/index.ts";
import { PatchError } from "./patch-error.ts";
import type { PatchField, PatchSchema } from "./patch-schema.ts";
import { directives, withoutDirectives } from "./strategic-directive.ts";
import {
  badArgumentType,
  mixedElementTypes,
  noMergeKey,
  orderMismatch,
  unknownPatchType,
} from "./strategic-error.ts";
import { itemKey, mergeInOrder } from "./strategic-order.ts";

/** Merges two maps; passed in because maps and lists are nested in each other. */
export type MergeMap = (
  original: JsonObject,
  patch: JsonObject,
  schema: PatchSchema | undefined,
) => JsonObject;

/**
 * Merges a list whose strategy is `merge`: the items of the patch in its order among the live items
 * in their order.
 */
export function mergeList(
  live: readonly JsonValue[],
  patch: readonly JsonValue[],
  field: PatchField,
  mergeMap: MergeMap,
): JsonValue[] {
  return mergeAndRemember(live, patch, field, mergeMap).list;
}

interface MergedList {
  readonly list: JsonValue[];
  /**
   * The live list for `$setElementOrder`: added items take the places of deleted ones, at the end.
   * Upstream has this behaviour because its slices share memory; kubectl users see it whenever they
   * replace one item of a list by another.
   */
  readonly liveOrder: readonly JsonValue[];
}

function mergeAndRemember(
  live: readonly JsonValue[],
  patch: readonly JsonValue[],
  field: PatchField,
  mergeMap: MergeMap,
): MergedList {
  if (live.length === 0 && patch.length === 0) return { list: [], liveOrder: live };
  if (elementKind(live, patch) !== "map") {
    const items = [...new Set([...live, ...patch])];
    return { list: mergeInOrder(items, { patchOrder: patch, liveOrder: live }), liveOrder: live };
  }
  const { mergeKey } = field;
  if (mergeKey === undefined) {
    throw new PatchError("unmergeable", "cannot merge lists without merge key for map");
  }
  const { kept, items } = applyItemDirectives(live, patch, mergeKey);
  const merged = mergeItems(kept, items, { ...field, mergeKey }, mergeMap);
  return {
    list: mergeInOrder(merged, { patchOrder: items, liveOrder: kept, mergeKey }),
    liveOrder: items.length === 0 ? live : merged.slice(0, live.length),
  };
}

/** Removes the scalars that `$deleteFromPrimitiveList` names from a list. */
export function deleteScalars(live: readonly JsonValue[], deletions: JsonValue): JsonValue[] {
  if (!Array.isArray(deletions)) {
    throw new PatchError("malformed", "invalid patch format of primitive list");
  }
  if (live.length + deletions.length > 0 && elementKind(live, deletions) === "map") {
    throw new PatchError("malformed", "invalid patch format of primitive list");
  }
  const gone = new Set<JsonValue>(deletions);
  return live.filter((item) => !gone.has(item));
}

/**
 * Merges a list with `$setElementOrder`. Undefined when there is neither a live list nor one in the
 * patch.
 */
export function orderList(options: {
  readonly live: JsonValue | undefined;
  readonly patch: JsonValue | undefined;
  readonly order: JsonValue;
  readonly field: PatchField;
  readonly mergeMap: MergeMap;
}): JsonValue[] | undefined {
  const { field } = options;
  const order = asList(options.order);
  const live = options.live === undefined ? undefined : asList(options.live);
  const patch = options.patch === undefined ? undefined : asList(options.patch);
  if (patch !== undefined) assertOrder(patch, order, field.mergeKey);
  let merged: readonly JsonValue[];
  let liveOrder = live ?? [];
  if (patch === undefined) {
    if (live === undefined) return undefined;
    merged = live;
  } else if (live === undefined || field.strategy !== "merge") {
    merged = withoutDirectives(patch) as readonly JsonValue[];
  } else {
    ({ list: merged, liveOrder } = mergeAndRemember(live, patch, field, options.mergeMap));
  }
  return mergeInOrder(merged, {
    patchOrder: order,
    liveOrder,
    ...(field.mergeKey === undefined ? {} : { mergeKey: field.mergeKey }),
  });
}

interface AppliedDirectives {
  /** The remaining live items, or the patch's own when it replaces the list. */
  readonly kept: readonly JsonObject[];
  /** The items of the patch that are not directives. */
  readonly items: readonly JsonObject[];
}

function applyItemDirectives(
  live: readonly JsonValue[],
  patch: readonly JsonValue[],
  mergeKey: string,
): AppliedDirectives {
  const items: JsonObject[] = [];
  const deleted = new Set<JsonValue>();
  let replace = false;
  for (const item of patch as readonly JsonObject[]) {
    const marker = member(item, directives.patch);
    if (marker === undefined) {
      items.push(item);
    } else if (marker === "delete") {
      deleted.add(keyOf(item, mergeKey));
    } else if (marker === "replace") {
      replace = true;
    } else if (marker === "merge") {
      throw new PatchError("unmergeable", "merging lists cannot yet be specified in the patch");
    } else {
      throw unknownPatchType(marker, item);
    }
  }
  if (replace) return { kept: withoutDirectives(items) as readonly JsonObject[], items: [] };
  const kept = (live as readonly JsonObject[]).filter((item) => {
    const key = member(item, mergeKey);
    return key === undefined || !deleted.has(key);
  });
  return { kept, items };
}

function mergeItems(
  live: readonly JsonObject[],
  patch: readonly JsonObject[],
  { mergeKey, schema }: PatchField & { readonly mergeKey: string },
  mergeMap: MergeMap,
): JsonObject[] {
  const merged = [...live];
  const positions = new Map<JsonValue, number>();
  for (const [i, item] of live.entries()) {
    const key = member(item, mergeKey);
    // Of several live items with one key the first is merged with the patch.
    if (key !== undefined && !positions.has(key)) positions.set(key, i);
  }
  for (const item of patch) {
    const key = keyOf(item, mergeKey);
    const position = positions.get(key);
    if (position === undefined) {
      positions.set(key, merged.length);
      merged.push(withoutDirectives(item) as JsonObject);
    } else {
      merged[position] = mergeMap(merged[position] as JsonObject, item, schema);
    }
  }
  return merged;
}

function keyOf(item: JsonObject, mergeKey: string): JsonValue {
  const key = member(item, mergeKey);
  if (key === undefined) throw noMergeKey(item, mergeKey);
  return key;
}

/** The items of the patch, without deletions, are in the order list, and in its order. */
function assertOrder(
  patch: readonly JsonValue[],
  order: readonly JsonValue[],
  mergeKey: string | undefined,
): void {
  if (order.length === 0) return;
  const ordered = patch.filter(
    (item) => !isJsonObject(item) || !Object.hasOwn(item, directives.patch),
  );
  let at = 0;
  for (const item of order) {
    if (at === ordered.length) return;
    if (itemKey(item, mergeKey) === itemKey(ordered[at] as JsonValue, mergeKey)) at++;
  }
  if (at < ordered.length) throw orderMismatch(patch, order);
}

type ElementKind = "map" | "scalar";

/** All items of both lists are of one kind, and not lists. */
function elementKind(...lists: readonly (readonly JsonValue[])[]): ElementKind {
  let first: string | undefined;
  for (const list of lists) {
    for (const item of list) {
      const kind = kindOf(item);
      if (kind === "list")
        throw new PatchError("not-applicable", "lists of lists are not supported");
      first ??= kind;
      if (first !== kind) throw mixedElementTypes(lists);
    }
  }
  return first === "map" ? "map" : "scalar";
}

function kindOf(item: JsonValue): string {
  if (Array.isArray(item)) return "list";
  if (item === null) return "null";
  if (typeof item === "object") return "map";
  return typeof item === "bigint" ? "number" : typeof item;
}

function asList(value: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(value)) throw badArgumentType("[]interface {}", value);
  return value;
}
