/** Random structural schemas, and values that may or may not fit them. */
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../json/index.ts";

const names = ["a", "b", "c", "__proto__", "constructor"] as const;

const scalarSchema: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constant({ type: "string" }),
  fc.constant({ type: "string", maxLength: 2 }),
  fc.constant({ type: "string", enum: ["a", "b"] }),
  fc.constant({ type: "string", pattern: "^a" }),
  fc.constant({ type: "string", format: "date" }),
  fc.constant({ type: "integer" }),
  fc.constant({ type: "integer", format: "int32", minimum: 0 }),
  fc.constant({ type: "number", multipleOf: 2 }),
  fc.constant({ type: "boolean" }),
  fc.constant({ "x-kubernetes-int-or-string": true }),
  fc.constant({ type: "integer", anyOf: [{ minimum: 3 }, { maximum: 1 }] }),
);

function withExtras(schema: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  return fc.tuple(schema, fc.boolean(), fc.boolean()).map(([json, nullable, preserve]) => ({
    ...json,
    ...(nullable ? { nullable: true } : {}),
    ...(preserve && json["type"] === "object"
      ? { "x-kubernetes-preserve-unknown-fields": true }
      : {}),
  }));
}

const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    withExtras(scalarSchema),
    withExtras(
      fc
        .dictionary(fc.constantFrom(...names), tie("schema"), { maxKeys: 4, noNullPrototype: true })
        .chain((properties) =>
          fc.subarray(Object.keys(properties)).map((required) => ({
            type: "object",
            properties,
            ...(required.length > 0 ? { required } : {}),
          })),
        ),
    ),
    withExtras(tie("schema").map((items) => ({ type: "array", items }))),
    withExtras(
      tie("schema").map((additionalProperties) => ({ type: "object", additionalProperties })),
    ),
    fc.constant<JsonObject>({ type: "object", additionalProperties: true }),
    fc.constant<JsonObject>({
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    }),
  ),
}));

/** Any JSON over few names and values, so that it meets the schemas often. */
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<JsonValue>(
      null,
      true,
      0,
      1,
      4,
      -1,
      1.5,
      2n ** 60n,
      "",
      "a",
      "b",
      "abc",
      "2024-01-01",
    ),
    fc.dictionary(fc.constantFrom(...names, "zz", "metadata", "kind"), tie("value"), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
    fc.array(tie("value"), { maxLength: 4 }),
  ),
}));

/** A value that fits, or one that does not: half of what the schema asks for, half at random. */
function fitting(json: JsonObject): fc.Arbitrary<JsonValue> {
  const type = json["type"];
  const enumerated = json["enum"];
  let own: fc.Arbitrary<JsonValue>;
  if (Array.isArray(enumerated)) own = fc.constantFrom(...(enumerated as JsonValue[]));
  else if (type === "string") own = fc.constantFrom("a", "ab", "2024-01-01");
  else if (type === "integer" || type === "number") own = fc.constantFrom(0, 4, 6);
  else if (type === "boolean") own = fc.boolean();
  else if (type === "array") own = fc.array(fitting(json["items"] as JsonObject), { maxLength: 3 });
  else if (type === "object" && json["properties"] !== undefined) {
    const properties = json["properties"] as JsonObject;
    const required = (json["required"] as string[] | undefined) ?? [];
    const members = Object.keys(properties).map((name) => {
      const member = fitting(properties[name] as JsonObject);
      const present = required.includes(name) ? fc.constant(true) : fc.boolean();
      return fc.tuple(fc.constant(name), member, present);
    });
    own = fc
      .tuple(...members)
      .map((all) =>
        Object.fromEntries(
          all.filter(([, , present]) => present).map(([name, item]) => [name, item]),
        ),
      );
  } else if (type === "object" && typeof json["additionalProperties"] === "object") {
    own = fc.dictionary(
      fc.constantFrom("k", "l"),
      fitting(json["additionalProperties"] as JsonObject),
      {
        noNullPrototype: true,
      },
    );
  } else if (json["x-kubernetes-embedded-resource"] === true) {
    own = fc.constant({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } });
  } else own = fc.constant(type === "object" ? {} : "a");
  return json["nullable"] === true ? fc.oneof(own, fc.constant(null)) : own;
}

export const arbitrarySchema = schema;
export const arbitraryValue = value;
export const arbitraryFitting = fitting;
