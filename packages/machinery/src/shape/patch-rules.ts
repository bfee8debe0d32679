/**
 * The patch rules of a shape: maps merge, lists with keys or set-like lists merge, others are
 * replaced.
 */
import type { PatchField, PatchSchema } from "../patch/index.ts";
import type { MessageShape, Shape } from "./shape.ts";

const known = new WeakMap<MessageShape, PatchSchema>();

export function patchRulesOf(shape: MessageShape): PatchSchema {
  let rules = known.get(shape);
  if (rules === undefined) {
    rules = { field: (name) => fieldOf(shape.fields.get(name)?.shape) };
    known.set(shape, rules);
  }
  return rules;
}

function fieldOf(shape: Shape | undefined): PatchField | undefined {
  switch (shape?.kind) {
    case "message":
      return { schema: patchRulesOf(shape) };
    case "list":
      return listField(shape);
    default:
      return undefined;
  }
}

function listField({ items, list }: Extract<Shape, { kind: "list" }>): PatchField | undefined {
  const schema = items.kind === "message" ? { schema: patchRulesOf(items) } : {};
  if (list.mergeKey !== undefined) return { strategy: "merge", mergeKey: list.mergeKey, ...schema };
  switch (list.isReplacedByPatch === true ? "atomic" : list.type) {
    case "atomic":
      return items.kind === "message" ? schema : undefined;
    case "set":
      return { strategy: "merge", ...schema };
    case "map":
      return {
        strategy: "merge",
        ...(list.keys?.[0] === undefined ? {} : { mergeKey: list.keys[0] }),
        ...schema,
      };
  }
}
