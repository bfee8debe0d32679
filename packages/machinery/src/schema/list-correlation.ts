/**
 * Correlates new items of a list of type map with old ones: those with the same keys. Items of
 * other lists do not correlate.
 */
import { isJsonObject, type JsonObject, type JsonValue, stringifyJson } from "../json/index.ts";
import type { SchemaNode } from "./schema-node.ts";

export interface OldItems {
  /** The old item with the same keys, if there is exactly a first one. */
  get(item: JsonValue): JsonValue | undefined;
}

export const noOldItems: OldItems = { get: () => undefined };

export function correlateItems(node: SchemaNode, oldList: JsonValue | undefined): OldItems {
  if (node.listType !== "map" || !Array.isArray(oldList) || node.listMapKeys.length === 0)
    return noOldItems;
  const byKey = new Map<string, JsonValue>();
  for (const item of oldList as readonly JsonValue[]) {
    const key = itemKey(item, node.listMapKeys);
    if (key !== undefined && !byKey.has(key)) byKey.set(key, item);
  }
  return {
    get(item) {
      const key = itemKey(item, node.listMapKeys);
      return key === undefined ? undefined : byKey.get(key);
    },
  };
}

function itemKey(item: JsonValue, keys: readonly string[]): string | undefined {
  if (!isJsonObject(item)) return undefined;
  const [only] = keys;
  if (keys.length === 1 && only !== undefined) return keyText(item, only);
  let text = "";
  for (const key of keys) {
    const part = Object.hasOwn(item, key) ? keyText(item, key) : "-";
    if (part === undefined) return undefined;
    text += `${part},`;
  }
  return text;
}

/** Undefined when the key is absent or no scalar. */
function keyText(item: JsonObject, key: string): string | undefined {
  if (!Object.hasOwn(item, key)) return undefined;
  const value = item[key] as JsonValue;
  return typeof value === "object" ? undefined : stringifyJson(value);
}
