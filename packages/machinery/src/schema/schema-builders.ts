/**
 * Builders of structural schemas, for kinds that a program declares itself. A schema carries the
 * TypeScript type of its values: `type Taint = TypeOf<typeof taint>`.
 */
import type { JsonObject, JsonValue } from "../json/index.ts";

declare const valueType: unique symbol;

/** A schema whose values have this type. The member exists in declarations only. */
export interface Schema<Type = unknown> extends JsonObject {
  readonly [valueType]?: Type;
}

/** The type of the values of a schema. */
export type TypeOf<Of extends Schema> = Of extends Schema<infer Type> ? Type : never;

export type SchemaProperties = Readonly<Record<string, Schema>>;

/** The type of the objects with these properties; one that is not required may be absent. */
export type ObjectOf<Of extends SchemaProperties, Required extends keyof Of> = Flat<
  { readonly [Name in Required]: TypeOf<Of[Name]> } & {
    readonly [Name in Exclude<keyof Of, Required>]?: TypeOf<Of[Name]>;
  }
>;
/** The same members without the intersection, as editors and errors show them. */
type Flat<Type> = { readonly [Name in keyof Type]: Type[Name] };

type ObjectRules<Required extends string> = JsonObject & {
  readonly required?: readonly Required[];
};

export function object<Of extends SchemaProperties, Required extends keyof Of & string = never>(
  properties: Of,
  more: ObjectRules<Required> = {},
): Schema<ObjectOf<Of, Required>> {
  return { type: "object", properties, ...more };
}

export function list<Item>(items: Schema<Item>, more: JsonObject = {}): Schema<readonly Item[]> {
  return { type: "array", items, ...more };
}

export function map<Value>(
  values: Schema<Value>,
  more: JsonObject = {},
): Schema<Readonly<Record<string, Value>>> {
  return { type: "object", additionalProperties: values, ...more };
}

export function string<const Value extends string = string>(
  description = "",
  more: JsonObject & { readonly enum?: readonly Value[] } = {},
): Schema<Value> {
  return { type: "string", ...described(description), ...more };
}

export function bool(description = "", more: JsonObject = {}): Schema<boolean> {
  return { type: "boolean", ...described(description), ...more };
}

export function int32(description = "", more: JsonObject = {}): Schema<number> {
  return { type: "integer", format: "int32", ...described(description), ...more };
}

function described(description: string): JsonObject {
  return description === "" ? {} : { description };
}

/** A time as Kubernetes writes it. */
export function time(description = ""): Schema<string> {
  return string(description, { format: "date-time" });
}

const anything: JsonObject = { "x-kubernetes-preserve-unknown-fields": true };

export const anyValue: Schema<JsonValue> = anything;

/** An object with any members. */
export function anyObject<Type = JsonObject>(
  description = "",
  more: JsonObject = {},
): Schema<Type> {
  return { type: "object", ...anything, ...described(description), ...more };
}

export function intOrString(description = "", more: JsonObject = {}): Schema<number | string> {
  const anyOf = [{ type: "integer" }, { type: "string" }];
  return { anyOf, "x-kubernetes-int-or-string": true, ...described(description), ...more };
}

export function rules(...pairs: readonly (readonly [rule: string, message: string])[]): JsonObject {
  return {
    "x-kubernetes-validations": pairs.map(([rule, message]): JsonValue => ({ rule, message })),
  };
}

/** A list that is applied as a unit. */
export const atomic: JsonObject = { "x-kubernetes-list-type": "atomic" };

/** A list whose items are applied one by one, told apart by the values of these members. */
export function keyedBy(...keys: readonly string[]): JsonObject {
  return { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys };
}

/** Conditions in the format of cluster-api: with a severity, and without an observed generation. */
export function conditionList(more: JsonObject = {}, status: JsonObject = {}): JsonObject {
  const condition = object(
    {
      type: string("What the condition is about."),
      status: string("True, False or Unknown.", status),
      severity: string("How bad it is, when it is not True: Error, Warning or Info."),
      reason: string("One word for programs."),
      message: string("A sentence for people: what is wrong, and what to do next."),
      lastTransitionTime: time(),
    },
    { required: ["lastTransitionTime", "status", "type"] },
  );
  return list(condition, { description: "The state of the object in several respects.", ...more });
}

/** The schema of a complete object; apiVersion, kind and metadata are implied. */
export function kindSchema<Of extends SchemaProperties, Required extends keyof Of & string = never>(
  description: string,
  properties: Of,
  more: ObjectRules<Required> = {},
): Schema<ObjectOf<Of, Required>> {
  const implied = { apiVersion: string(), kind: string(), metadata: { type: "object" } };
  return { ...object({ ...implied, ...properties }), description, ...more };
}

export function column(
  name: string,
  jsonPath: string,
  more: { type?: string; priority?: number; description?: string } = {},
): JsonObject {
  return { name, type: "string", jsonPath, ...more };
}

export const ageColumn: JsonObject = column("Age", ".metadata.creationTimestamp", { type: "date" });

export function conditionColumn(type: string): JsonObject {
  return column(type, `.status.conditions[?(@.type=="${type}")].status`);
}
