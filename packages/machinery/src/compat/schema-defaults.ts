/**
 * What a rule of a node may depend on below that node: its fields, and their defaults. Results are
 * kept for each node: schemas may have rules on every level, and many fields below all of them.
 */
import type { SchemaProps } from "../schema/index.ts";

export class SchemaDefaults {
  readonly #known = new WeakMap<SchemaProps, WeakMap<SchemaProps, boolean>>();

  /** Whether the same fields have the same defaults, in all levels below. */
  areSame(one: SchemaProps, other: SchemaProps): boolean {
    const count = defaultsIn(one);
    if (count !== defaultsIn(other)) return false;
    if (count === 0 || one === other) return true;
    const known = this.#known.get(one) ?? new WeakMap<SchemaProps, boolean>();
    this.#known.set(one, known);
    let result = known.get(other);
    if (result === undefined) {
      result = this.#compare(one, other);
      known.set(other, result);
    }
    return result;
  }

  /** With as many defaults on both sides, each of one side needs its partner on the other. */
  #compare(one: SchemaProps, other: SchemaProps): boolean {
    if (JSON.stringify(one.default) !== JSON.stringify(other.default)) return false;
    const others = childrenOf(other);
    for (const [name, child] of childrenOf(one)) {
      if (defaultsIn(child) === 0) continue;
      const partner = others.get(name);
      if (partner === undefined || !this.areSame(child, partner)) return false;
    }
    return true;
  }
}

/** The number of fields below a node: less after fields were removed. */
export const fieldsBelow = countedOnce(({ properties }) => properties?.size ?? 0);

/** The number of defaults of a node and below it. */
const defaultsIn = countedOnce(({ default: own }) => (own === undefined ? 0 : 1));

/** The sum of a node's own count and of those below it. */
function countedOnce(ownCount: (schema: SchemaProps) => number): (schema: SchemaProps) => number {
  const counts = new WeakMap<SchemaProps, number>();
  const count = (schema: SchemaProps): number => {
    let result = counts.get(schema);
    if (result === undefined) {
      result = ownCount(schema);
      for (const child of childrenOf(schema).values()) result += count(child);
      counts.set(schema, result);
    }
    return result;
  };
  return count;
}

/** Named so that no property can have the name of the items or of the additional properties. */
function childrenOf({ properties, items, additionalProperties }: SchemaProps): Children {
  const hasItems = items !== undefined && !Array.isArray(items);
  if (!hasItems && typeof additionalProperties !== "object") return properties ?? none;
  const children = new Map<unknown, SchemaProps>(properties);
  if (hasItems) children.set(0, items as SchemaProps);
  if (typeof additionalProperties === "object") children.set(1, additionalProperties);
  return children;
}

type Children = ReadonlyMap<unknown, SchemaProps>;
const none: Children = new Map();
