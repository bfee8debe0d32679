/**
 * Adapts a field set to a type that has changed since the set was written: where a field has become
 * atomic, its owner owns it as one value and no longer by members.
 */
import { type FieldSet, hasChildren, leaf, type MutableFieldSet, self } from "./field-set.ts";
import { memberType, type TypeSchema } from "./type-schema.ts";

export function reconcileWithSchema(set: FieldSet, type: TypeSchema): FieldSet {
  let reconciled: MutableFieldSet | undefined;
  for (const element in set) {
    const node = set[element] as FieldSet;
    // A leaf is already owned as one value.
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

/** Types that allow any shape are left unchanged: whether they are atomic depends on the value. */
function isAtomic(type: TypeSchema): boolean {
  if (type.scalar !== undefined) return false;
  if (type.map !== undefined) return type.map.relationship === "atomic";
  return type.list?.relationship === "atomic";
}
