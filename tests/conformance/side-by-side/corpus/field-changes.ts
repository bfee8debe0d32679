/**
 * Every field of a kind with values that it may and may not have, from the kind's shape: an empty
 * one, a wrong one, one of another type, several, and the same twice.
 */
import type { Field, MessageShape, ScalarType, Shape } from "@kcp-ts/machinery/shape";
import { valueAt } from "../corpus-request.ts";
import type { Change } from "./change.ts";

/** The first is one that most rules accept. */
const scalarValues: Readonly<Record<ScalarType, readonly unknown[]>> = {
  string: ["x", "A b", "", 1],
  bool: [true, "yes"],
  int32: [7, -1, 0, "1"],
  int64: [7, -1, 0, "1"],
  double: [1.5, "1"],
  bytes: ["eA==", "!"],
  time: ["2026-01-02T03:04:05Z", "yesterday"],
  microTime: ["2026-01-02T03:04:05.000006Z", "yesterday"],
  quantity: ["1", "-1", "x", "1500m"],
  intOrString: [80, -1, 0, "A b", "50%", true],
  fields: [],
  raw: [{ a: "b" }],
  json: [],
};

export interface FieldChoice {
  readonly shape: MessageShape;
  /** An object of the kind: its fields are entered first. */
  readonly base: object;
  /** Messages that are not entered, and fields of messages (`PodSpec.os`) that are left out. */
  readonly skipped: readonly string[];
}

/** Each message is entered where it is met first. */
export function fieldChanges({ shape, base, skipped }: FieldChoice): Change[] {
  const entered = new Set(skipped);
  const outer = ["apiVersion", "kind", "metadata", "status"];
  const changes: Change[] = [];
  const enter = (message: MessageShape, path: string) => {
    const name = message.name.slice(message.name.lastIndexOf(".") + 1);
    if (entered.has(name)) return;
    entered.add(name);
    for (const field of fieldsInOrder(message, valueAt(base, path))) {
      if (path === "" && outer.includes(field.name)) continue;
      if (skipped.includes(`${name}.${field.name}`)) continue;
      const at = path === "" ? field.name : `${path}.${field.name}`;
      changes.push(...changesOf(field.shape, at));
      const [inner, place] = innerMessage(field.shape, at);
      if (inner !== undefined) enter(inner, place);
    }
  };
  enter(shape, "");
  return changes;
}

function fieldsInOrder(message: MessageShape, value: unknown): readonly Field[] {
  const isGiven = (field: Field) => valueAt(value, field.name) !== undefined;
  const all = [...message.fields.values()];
  return [...all.filter(isGiven), ...all.filter((field) => !isGiven(field))];
}

function innerMessage(shape: Shape, at: string): readonly [MessageShape | undefined, string] {
  if (shape.kind === "message") return [shape, at];
  if (shape.kind === "list" && shape.items.kind === "message") return [shape.items, `${at}.0`];
  return [undefined, at];
}

function changesOf(shape: Shape, at: string): Change[] {
  return valuesOf(shape).map((value) => [`${at} = ${JSON.stringify(value)}`, at, value]);
}

function valuesOf(shape: Shape): readonly unknown[] {
  switch (shape.kind) {
    case "scalar":
      return scalarValues[shape.scalar];
    case "message":
      return [{}, "x"];
    case "list": {
      if (shape.items.kind === "message") return [[{}], [{}, {}], {}];
      const values = valuesOf(shape.items);
      return [...values.map((value) => [value]), [values[0], values[0]], []];
    }
    case "map": {
      const values = valuesOf(shape.values);
      return [...values.map((value) => ({ a: value })), { "A b": values[0] }, {}];
    }
  }
}
