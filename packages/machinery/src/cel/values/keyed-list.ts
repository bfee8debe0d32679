/**
 * Lists whose elements have keys: `x-kubernetes-list-type: set`, where the element is the key, and
 * `map`, where some of its properties are. Two of them are equal in any order; adding one merges it
 * in by key.
 */
import { ArrayList, elementsOf } from "./collections.ts";
import { equalValues } from "./compare.ts";
import { chargeText, type StepCounter } from "./step-counter.ts";
import { CelError, CelList, CelMap, type CelResult, CelUint, type CelValue } from "./value.ts";

/** A text that is the same for two elements exactly if they have the same key. */
export type ElementKey = (element: CelValue) => string;

export interface KeyedElements extends CelList {
  readonly keyOf: ElementKey;
  equalTo(other: CelList, steps: StepCounter): boolean | CelError;
}

export function isKeyed(list: CelList): list is KeyedElements {
  return "keyOf" in list;
}

/** A list with keys that an expression built by adding. */
class KeyedArrayList extends ArrayList implements KeyedElements {
  readonly keyOf: ElementKey;

  constructor(values: readonly CelValue[], keyOf: ElementKey) {
    super(values);
    this.keyOf = keyOf;
  }

  equalTo(other: CelList, steps: StepCounter): boolean | CelError {
    return equalKeyed(this, other, steps);
  }
}

/** `other` has the same size as `list`. */
export function equalKeyed(
  list: KeyedElements,
  other: CelList,
  steps: StepCounter,
): boolean | CelError {
  steps.step(list.size * 12 + 1);
  const positions = new Map<string, number>();
  for (let i = 0; i < list.size; i++) {
    const element = list.get(i);
    if (element instanceof CelError) return element;
    positions.set(list.keyOf(element), i);
  }
  const seen = new Set<string>();
  for (let i = 0; i < other.size; i++) {
    const theirs = other.get(i);
    if (theirs instanceof CelError) return theirs;
    const key = list.keyOf(theirs);
    const position = positions.get(key);
    if (position === undefined) return false;
    const ours = list.get(position);
    if (ours instanceof CelError) return ours;
    const equal = equalValues(ours, theirs, steps);
    if (equal !== true) return equal;
    seen.add(key);
  }
  return seen.size === positions.size;
}

/**
 * The elements of `list` in their places, those with a key of `other` replaced by it, and the rest
 * of `other` behind them.
 */
export function addKeyed(list: KeyedElements, other: CelList): CelResult {
  const ours = elementsOf(list);
  if (ours instanceof CelError) return ours;
  const theirs = elementsOf(other);
  if (theirs instanceof CelError) return theirs;
  const merged = new Map<string, CelValue>();
  for (const element of [...ours, ...theirs]) merged.set(list.keyOf(element), element);
  return new KeyedArrayList([...merged.values()], list.keyOf);
}

/** The key of a set's element: the element. */
export function setElementKey(element: CelValue): string {
  return scalarKey(element);
}

/** The key of a map list's element: the values of its key properties. */
export function mapElementKey(identifiers: readonly string[]): ElementKey {
  return (element) => {
    if (!(element instanceof CelMap)) return scalarKey(element);
    return identifiers
      .map((identifier) => scalarKey(element.find(identifier) ?? null))
      .join("\u0000");
  };
}

function scalarKey(value: CelResult): string {
  if (value instanceof CelUint) return `n${value.value}`;
  switch (typeof value) {
    case "bigint":
    case "number":
      return `n${value}`;
    case "string":
      chargeText(value.length, 4);
      return `s${JSON.stringify(value)}`;
    case "boolean":
      return `b${value}`;
    default:
      if (value instanceof CelList) return `l${value.size}`;
      return value instanceof CelMap ? `m${value.size}` : "null";
  }
}
