/** A shape without some of its fields: as an older release, or a tenant, has it. */
import type { Field, MessageShape, Shape } from "./shape.ts";

/** Names of messages, with the names of the fields that they lack. */
export type MissingFields = ReadonlyMap<string, ReadonlySet<string>>;

/** Messages that occur repeatedly are narrowed once; the shape itself when nothing is missing. */
export function narrowShape(shape: MessageShape, missing: MissingFields): MessageShape {
  return missing.size === 0 ? shape : narrowMessage(shape, missing, new Map());
}

function narrowMessage(
  shape: MessageShape,
  missing: MissingFields,
  done: Map<MessageShape, MessageShape>,
): MessageShape {
  const known = done.get(shape);
  if (known !== undefined) return known;
  const fields = new Map<string, Field>();
  const byNumber = new Map<number, Field>();
  const { kind, name, description, required, keepsEmpty, isAtomic } = shape;
  const narrowed: MessageShape = {
    kind,
    name,
    description,
    fields,
    byNumber,
    required,
    keepsEmpty,
    isAtomic,
  };
  done.set(shape, narrowed);
  const dropped = missing.get(name);
  for (const field of shape.byNumber.values()) {
    if (dropped?.has(field.name) === true) continue;
    const kept = { ...field, shape: narrowAny(field.shape, missing, done) };
    byNumber.set(field.number, kept);
    if (field.isInlined !== true) fields.set(field.name, kept);
    else if (kept.shape.kind === "message")
      for (const [name, inner] of kept.shape.fields)
        if (dropped?.has(name) !== true) fields.set(name, inner);
  }
  return narrowed;
}

function narrowAny(
  shape: Shape,
  missing: MissingFields,
  done: Map<MessageShape, MessageShape>,
): Shape {
  switch (shape.kind) {
    case "message":
      return narrowMessage(shape, missing, done);
    case "list":
      return { ...shape, items: narrowAny(shape.items, missing, done) };
    case "map":
      return { ...shape, values: narrowAny(shape.values, missing, done) };
    case "scalar":
      return shape;
  }
}
