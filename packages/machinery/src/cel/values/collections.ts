/** Lists and maps that an expression builds, as opposed to views of the embedder's data. */
import { chargeSteps, chargeText } from "./step-counter.ts";
import {
  CelError,
  CelList,
  CelMap,
  type CelResult,
  CelUint,
  type CelValue,
  NO_SUCH_OVERLOAD,
} from "./value.ts";

export class ArrayList extends CelList {
  readonly values: readonly CelValue[];

  constructor(values: readonly CelValue[]) {
    super();
    this.values = values;
  }

  get size(): number {
    return this.values.length;
  }

  get(index: number): CelResult {
    const value = this.values[index];
    return value === undefined ? new CelError(`index out of bounds: ${index}`) : value;
  }
}

/** An entry is a place in a table, and a pair. */
const INSERT_STEPS = 8;

export const EMPTY_LIST = new ArrayList([]);

/**
 * A map by value: numeric keys that are equal as numbers are the same key, whatever their types.
 */
export class ValueMap extends CelMap {
  readonly #entries = new Map<unknown, readonly [CelValue, CelValue]>();

  get size(): number {
    return this.#entries.size;
  }

  find(key: CelValue): CelResult | undefined {
    return this.#entries.get(keyOf(key))?.[1];
  }

  keys(): readonly CelValue[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }

  /** Adds an entry; an error if the key is of no key type or is there already. */
  insert(key: CelValue, value: CelValue): CelError | undefined {
    if (!isKey(key)) return new CelError("unsupported key type");
    chargeSteps(INSERT_STEPS);
    if (typeof key === "string") chargeText(key.length);
    const normal = keyOf(key);
    if (this.#entries.has(normal)) return new CelError(`Failed with repeated key`);
    this.#entries.set(normal, [key, value]);
    return undefined;
  }

  /** A map with the same entries, for adding to. */
  clone(): ValueMap {
    const copy = new ValueMap();
    for (const [normal, entry] of this.#entries) copy.#entries.set(normal, entry);
    return copy;
  }
}

function isKey(key: CelValue): boolean {
  const type = typeof key;
  return type === "string" || type === "boolean" || type === "bigint" || key instanceof CelUint;
}

function keyOf(key: CelValue): unknown {
  if (key instanceof CelUint) return key.value;
  if (typeof key === "number" && Number.isInteger(key)) return BigInt(key);
  return key;
}

/** All elements of a list as an array, or the first error among them. */
export function elementsOf(list: CelList): readonly CelValue[] | CelError {
  if (list instanceof ArrayList) return list.values;
  const values: CelValue[] = [];
  for (let i = 0; i < list.size; i++) {
    const value = list.get(i);
    if (value instanceof CelError) return value;
    values.push(value);
  }
  return values;
}

/**
 * Adds one key and its value, or all entries of a map. Keys that are there already are an error.
 */
export function insertInto(map: ValueMap, values: readonly CelValue[]): CelError | undefined {
  const [key, value] = values;
  if (key !== undefined && value !== undefined) return insertOne(map, key, value);
  if (!(key instanceof CelMap)) return NO_SUCH_OVERLOAD;
  for (const entryKey of key.keys()) {
    const entryValue = key.find(entryKey);
    if (entryValue instanceof CelError) return entryValue;
    const problem = insertOne(map, entryKey, entryValue ?? null);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function insertOne(map: ValueMap, key: CelValue, value: CelValue): CelError | undefined {
  if (map.find(key) !== undefined)
    return new CelError(`insert failed: key ${String(key)} already exists`);
  return map.insert(key, value);
}
