/**
 * Brings a set of fields in line with a type that has changed since the set was written: where something has become atomic, its owner owns
 * it as a whole and no longer in parts.
 */
import { type FieldSet, hasChildren, leaf, type MutableFieldSet, self } from "./field-set.ts";
import { memberType, type TypeSchema } from "./type-schema.ts";

export function reconcileWithSchema(set: FieldSet, type: TypeSchema): FieldSet {
  let reconciled: MutableFieldSet | undefined;
  for (const element in set) {
    const node = set[element] as FieldSet;
    // A leaf is owned as a whole already.
    if (node === leaf || element === self || !hasChildren(node)) continue;
    const below = typeAt(type, element);
    if (below === undefined) continue;
    const result = isAtomic(below) ? leaf : reconcileWithSchema(node, below);
    if (result === node) continue;
    reconciled ??= { ...set };
    reconciled[element] = result;
  }
  return reconciled ?? set;
}

function typeAt(type: TypeSchema, element: string): TypeSchema | undefined {
  if (element[0] === "f") return type.map && memberType(type.map, element.slice(2));
  return type.list?.item;
}

/** Types that allow any shape are left alone: whether they are atomic depends on the value. */
function isAtomic(type: TypeSchema): boolean {
  if (type.scalar !== undefined) return false;
  if (type.map !== undefined) return type.map.relationship === "atomic";
  return type.list?.relationship === "atomic";
}
