/**
 * Whether two schemas are equal, node by node. The comparison of two schemas asks this of a node
 * and then of every node below it, so results are kept: the cost follows the number of nodes, and
 * not their depth.
 */
import type { Resumable } from "../base/index.ts";
import type { SchemaProps } from "../schema/index.ts";

export class SchemaEquality {
  readonly #known = new WeakMap<object, WeakMap<object, boolean>>();

  *isEqual(one: SchemaProps, other: SchemaProps): Resumable<boolean> {
    return yield* this.#isEqual(one, other);
  }

  *#isEqual(one: unknown, other: unknown): Resumable<boolean> {
    if (one === other) return true;
    if (!isObject(one) || !isObject(other)) return false;
    const known = this.#known.get(one) ?? new WeakMap<object, boolean>();
    this.#known.set(one, known);
    let result = known.get(other);
    if (result === undefined) {
      yield;
      result = yield* this.#isContentEqual(one, other);
      known.set(other, result);
    }
    return result;
  }

  *#isContentEqual(one: object, other: object): Resumable<boolean> {
    if (Array.isArray(one) || Array.isArray(other)) {
      if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
      for (const [index, each] of one.entries())
        if (!(yield* this.#isEqual(each, other[index]))) return false;
      return true;
    }
    const [members, others] = [membersOf(one), membersOf(other)];
    if (members.size !== others.size) return false;
    for (const [name, each] of members)
      if (!others.has(name) || !(yield* this.#isEqual(each, others.get(name)))) return false;
    return true;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The members that have a value, of a map or of an object. */
function membersOf(value: object): ReadonlyMap<unknown, unknown> {
  if (value instanceof Map) return value;
  return new Map(Object.entries(value).filter(([, each]) => each !== undefined));
}
