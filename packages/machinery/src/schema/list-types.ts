/**
 * Lists of type set have no duplicate values, lists of type map no duplicate keys.
 *
 * A separate walk, because Kubernetes ratchets all of them together here: when the old object had
 * such an error anywhere, none is reported.
 */
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { canonicalJson } from "./canonical.ts";
import { truncatedValue } from "./error-collector.ts";
import { comparedItemsMax, errorsMax, SchemaLimitError } from "./limits.ts";
import { reachBit, type SchemaNode } from "./schema-node.ts";
import { fieldPath, type PathSegment } from "./value-path.ts";

export function validateListTypes(node: SchemaNode, value: JsonValue): FieldError[] {
  const walk = new ListTypeWalk();
  // At the root, only the members are checked.
  if (isJsonObject(value)) walk.value(node, value);
  return walk.errors;
}

class ListTypeWalk {
  readonly errors: FieldError[] = [];
  readonly #path: PathSegment[] = [];
  #compared = 0;

  value(node: SchemaNode, value: JsonValue): void {
    if ((node.reach & reachBit.listType) === 0 || this.errors.length >= errorsMax) return;
    if (Array.isArray(value)) this.#array(node, value);
    else if (isJsonObject(value)) this.#object(node, value);
  }

  #object(node: SchemaNode, value: JsonObject): void {
    for (const key of Object.keys(value)) {
      const property = node.properties?.get(key);
      const child = property ?? (typeof node.additional === "object" ? node.additional : undefined);
      if (child === undefined) continue;
      this.#path.push(property === undefined ? [key] : key);
      this.value(child, value[key] as JsonValue);
      this.#path.pop();
    }
  }

  #array(node: SchemaNode, value: readonly JsonValue[]): void {
    if (node.listType === "set" || node.listType === "map") {
      this.#compared += value.length;
      if (this.#compared > comparedItemsMax)
        throw new SchemaLimitError(
          `the lists of type set and map have more than ${comparedItemsMax} items`,
        );
    }
    if (node.listType === "set") this.#report(duplicates(value), (i) => value[i] as JsonValue);
    if (node.listType === "map") this.#map(node.listMapKeys, value);
    if (node.items === undefined) return;
    for (let i = 0; i < value.length; i++) {
      this.#path.push(i);
      this.value(node.items, value[i] as JsonValue);
      this.#path.pop();
    }
  }

  #map(keyNames: readonly string[], value: readonly JsonValue[]): void {
    const keys: JsonValue[] = [];
    for (const [i, item] of value.entries()) {
      if (item !== null && !isJsonObject(item)) {
        this.#path.push(i);
        const field = fieldPath(this.#path);
        this.#path.pop();
        this.errors.push(
          fieldError.invalid(
            field,
            truncatedValue(item),
            "must be an object for an array of list-type map",
          ),
        );
        return;
      }
      keys.push(comparableKey(item, keyNames));
    }
    this.#report(duplicates(keys), (i) => keyObject(value[i] as JsonObject | null, keyNames));
  }

  #report(indices: readonly number[], valueAt: (index: number) => JsonValue): void {
    for (const i of indices) {
      if (this.errors.length >= errorsMax) return;
      this.#path.push(i);
      this.errors.push(fieldError.duplicate(fieldPath(this.#path), truncatedValue(valueAt(i))));
      this.#path.pop();
    }
  }
}

/** Equal for items with equal keys; a scalar where there is one key, which is the common case. */
function comparableKey(item: JsonObject | null, keyNames: readonly string[]): JsonValue {
  const [only] = keyNames;
  if (keyNames.length === 1 && only !== undefined && item !== null && Object.hasOwn(item, only))
    return item[only] as JsonValue;
  // An array of the present keys: no scalar key can be equal to it.
  return keyNames.map((name) =>
    item !== null && Object.hasOwn(item, name) ? [item[name] as JsonValue] : null,
  );
}

function keyObject(item: JsonObject | null, keyNames: readonly string[]): JsonObject {
  const key: { [name: string]: JsonValue } = {};
  for (const name of keyNames) {
    if (item !== null && Object.hasOwn(item, name)) setMember(key, name, item[name] as JsonValue);
  }
  return key;
}

/** The index of each value's second appearance; a third one is not reported again. */
function duplicates(values: readonly JsonValue[]): number[] {
  const seen = new Map<JsonValue, number>();
  const repeated: number[] = [];
  for (const [i, value] of values.entries()) {
    // A string and the text of a compound cannot meet: the latter are marked.
    const key =
      typeof value === "object" && value !== null ? `\u0000${canonicalJson(value)}` : value;
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    if (times === 2) repeated.push(i);
  }
  return repeated;
}
