/**
 * The order of a merged list: the patch's order among its items, the live order among the others,
 * interleaved.
 */
import { isJsonObject, type JsonValue, member } from "../json/index.ts";
import { badArgumentType, noMergeKey } from "./strategic-error.ts";

export interface Orders {
  readonly patchOrder: readonly JsonValue[];
  readonly liveOrder: readonly JsonValue[];
  /** Absent for lists of scalars. */
  readonly mergeKey?: string;
}

/**
 * Items of the patch come in the patch's order, live-only items in theirs. A live-only item goes in
 * front of the first patch item that it preceded in the live list.
 */
export function mergeInOrder(items: readonly JsonValue[], orders: Orders): JsonValue[] {
  const { mergeKey } = orders;
  const patchPositions = positions(orders.patchOrder, mergeKey);
  const livePositions = positions(orders.liveOrder, mergeKey);
  const fromPatch: Placed[] = [];
  const serverOnly: Placed[] = [];
  for (const item of items) {
    const key = itemKey(item, mergeKey);
    const patchPosition = patchPositions.get(key);
    const placed = { item, live: livePositions.get(key), sort: patchPosition ?? 0 };
    if (patchPosition === undefined) serverOnly.push({ ...placed, sort: placed.live ?? 0 });
    else fromPatch.push(placed);
  }
  fromPatch.sort(bySort);
  serverOnly.sort(bySort);
  return interleave(serverOnly, fromPatch);
}

/** The identity of an item. Throws when it is not a map or lacks the merge key. */
export function itemKey(item: JsonValue, mergeKey: string | undefined): JsonValue {
  if (mergeKey === undefined) return item;
  if (!isJsonObject(item)) throw badArgumentType("map[string]interface {}", item);
  const key = member(item, mergeKey);
  if (key === undefined) throw noMergeKey(item, mergeKey);
  return key;
}

interface Placed {
  readonly item: JsonValue;
  readonly live: number | undefined;
  readonly sort: number;
}

function bySort(a: Placed, b: Placed): number {
  return a.sort - b.sort;
}

function interleave(serverOnly: readonly Placed[], fromPatch: readonly Placed[]): JsonValue[] {
  const merged: JsonValue[] = [];
  let next = 0;
  for (const placed of fromPatch) {
    for (let candidate = serverOnly[next]; candidate !== undefined; candidate = serverOnly[next]) {
      if (candidate.live === undefined || placed.live === undefined) break;
      if (candidate.live >= placed.live) break;
      merged.push(candidate.item);
      next++;
    }
    merged.push(placed.item);
  }
  for (const { item } of serverOnly.slice(next)) merged.push(item);
  return merged;
}

function positions(
  order: readonly JsonValue[],
  mergeKey: string | undefined,
): ReadonlyMap<JsonValue, number> {
  const byKey = new Map<JsonValue, number>();
  for (const [i, item] of order.entries()) {
    const key = itemKey(item, mergeKey);
    if (!byKey.has(key)) byKey.set(key, i);
  }
  return byKey;
}
