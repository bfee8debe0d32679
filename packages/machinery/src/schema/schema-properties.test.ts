/**
 * Properties over random schemas and objects. The four walks of Kubernetes (prune, drop nulls,
 * coerce, default) are written down here once more, plainly and one after the other, as the model
 * that the one-pass walk has to agree with.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  cloneJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  setMember,
} from "../json/index.ts";
import { type CompiledSchema, compileSchema, shape } from "./index.ts";

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
  return fc
    .tuple(schema, fc.boolean(), fc.boolean())
    .map(([json, nullable, preserve]) => ({
      ...json,
      ...(nullable ? { nullable: true } : {}),
      ...(preserve && json["type"] === "object"
        ? { "x-kubernetes-preserve-unknown-fields": true }
        : {}),
    }));
}

const { schema: arbitrarySchema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    withExtras(scalarSchema),
    withExtras(
      fc
        .dictionary(fc.constantFrom(...names), tie("schema"), { maxKeys: 4, noNullPrototype: true })
        .chain((properties) =>
          fc
            .subarray(Object.keys(properties))
            .map((required) => ({
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
const { value: arbitraryValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
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
function arbitraryFitting(json: JsonObject): fc.Arbitrary<JsonValue> {
  const type = json["type"];
  const enumerated = json["enum"];
  let own: fc.Arbitrary<JsonValue>;
  if (Array.isArray(enumerated)) own = fc.constantFrom(...(enumerated as JsonValue[]));
  else if (type === "string") own = fc.constantFrom("a", "ab", "2024-01-01");
  else if (type === "integer" || type === "number") own = fc.constantFrom(0, 4, 6);
  else if (type === "boolean") own = fc.boolean();
  else if (type === "array")
    own = fc.array(arbitraryFitting(json["items"] as JsonObject), { maxLength: 3 });
  else if (type === "object" && json["properties"] !== undefined) {
    const properties = json["properties"] as JsonObject;
    const required = (json["required"] as string[] | undefined) ?? [];
    const members = Object.keys(properties).map((name) => {
      const member = arbitraryFitting(properties[name] as JsonObject);
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
      arbitraryFitting(json["additionalProperties"] as JsonObject),
      { noNullPrototype: true },
    );
  } else if (json["x-kubernetes-embedded-resource"] === true) {
    own = fc.constant({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } });
  } else own = fc.constant(type === "object" ? {} : "a");
  return json["nullable"] === true ? fc.oneof(own, fc.constant(null)) : own;
}

type Mutable = { [key: string]: JsonValue };

const own = (object: JsonValue | undefined, key: string): JsonValue | undefined =>
  isJsonObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
const property = (schema: JsonObject | undefined, key: string): JsonObject | undefined =>
  own(schema?.["properties"], key) as JsonObject | undefined;
const additional = (schema: JsonObject | undefined): JsonObject | undefined => {
  const json = schema?.["additionalProperties"];
  return isJsonObject(json) ? json : undefined;
};
const preserves = (schema: JsonObject | undefined): boolean =>
  schema?.["x-kubernetes-preserve-unknown-fields"] === true;

function modelPrune(value: JsonValue, schema: JsonObject | undefined, inherited: boolean): void {
  const keeps = inherited || preserves(schema);
  if (Array.isArray(value)) {
    const items = schema?.["items"] as JsonObject | undefined;
    if (keeps && items === undefined) return;
    for (const item of value) modelPrune(item as JsonValue, items, keeps);
  } else if (isJsonObject(value)) {
    const isResource = schema?.["x-kubernetes-embedded-resource"] === true;
    for (const key of Object.keys(value)) {
      if (isResource && ["apiVersion", "kind", "metadata"].includes(key)) continue;
      const known = property(schema, key);
      if (known !== undefined) modelPrune(value[key] as JsonValue, known, false);
      else if (schema?.["additionalProperties"] !== undefined)
        modelPrune(value[key] as JsonValue, additional(schema), false);
      else if (!keeps) delete (value as Mutable)[key];
    }
  }
}

function modelNullsAndDefaults(value: JsonValue, schema: JsonObject | undefined): void {
  const fill = (json: JsonObject | undefined): JsonValue | undefined =>
    json !== undefined && json["nullable"] !== true ? json["default"] : undefined;
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const items = schema["items"] as JsonObject | undefined;
    for (const [i, item] of (value as JsonValue[]).entries()) {
      const filling = fill(items);
      if (item === null && filling !== undefined) (value as JsonValue[])[i] = cloneJson(filling);
      modelNullsAndDefaults((value as JsonValue[])[i] as JsonValue, items);
    }
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      const child = property(schema, key) ?? additional(schema);
      if (value[key] !== null || child === undefined || child["nullable"] === true) continue;
      const filling = fill(child);
      if (filling === undefined) delete (value as Mutable)[key];
      else setMember(value as Mutable, key, cloneJson(filling));
    }
    for (const key of Object.keys((schema["properties"] as JsonObject | undefined) ?? {})) {
      const filling = property(schema, key)?.["default"];
      if (filling !== undefined && !Object.hasOwn(value, key))
        setMember(value as Mutable, key, cloneJson(filling));
    }
    for (const key of Object.keys(value))
      modelNullsAndDefaults(value[key] as JsonValue, property(schema, key) ?? additional(schema));
  }
}

/** The schema with defaults that fit, on some of its fields. */
function withDefaults(schema: JsonObject): fc.Arbitrary<JsonObject> {
  const properties = schema["properties"];
  if (!isJsonObject(properties)) return fc.constant(schema);
  const members = Object.keys(properties).map((name) =>
    withDefaults(properties[name] as JsonObject).chain((json) =>
      fc
        .option(arbitraryFitting(json), { freq: 2 })
        .map((value): [string, JsonObject] => [
          name,
          value === null ? json : { ...json, default: value },
        ]),
    ),
  );
  return fc
    .tuple(...members)
    .map((all) => ({ ...schema, properties: Object.fromEntries(all) as JsonObject }));
}

const root = (spec: JsonObject): JsonObject => ({ type: "object", properties: { spec } });
const schemaAndValue = arbitrarySchema
  .chain(withDefaults)
  .chain((schema) =>
    fc.record({
      schema: fc.constant(schema),
      value: fc.oneof(arbitraryFitting(schema), arbitraryValue),
    }),
  );
const runs = { numRuns: 400 };

const admit = (schema: CompiledSchema, object: JsonValue): JsonValue => schema.admit(object).value;

describe("shaping, over random schemas and objects", () => {
  it("agrees with the four walks done one after the other", () => {
    fc.assert(
      fc.property(schemaAndValue, ({ schema, value }) => {
        const compiled = compileSchema(root(schema));
        const model = cloneJson({ spec: value } as JsonObject);
        modelPrune(model, root(schema), false);
        modelNullsAndDefaults(model, root(schema));
        // Metadata of embedded resources has tests of its own; the model does not coerce.
        const shaped = shape({ spec: value }, compiled.root, {
          prune: true,
          dropNulls: true,
          applyDefaults: true,
        });
        assert.deepEqual(shaped.value, model);
      }),
      runs,
    );
  });

  it("done twice is done once: the second time the object comes back itself", () => {
    fc.assert(
      fc.property(schemaAndValue, ({ schema, value }) => {
        const compiled = compileSchema(root(schema));
        const admitted = admit(compiled, { spec: value });
        assert.equal(admit(compiled, admitted), admitted);
        const pruned = compiled.prune({ spec: value }).value;
        assert.equal(compiled.prune(pruned).value, pruned);
        const defaulted = compiled.applyDefaults({ spec: value });
        assert.equal(compiled.applyDefaults(defaulted), defaulted);
      }),
      runs,
    );
  });

  it("names an unknown field exactly when it removes one", () => {
    fc.assert(
      fc.property(schemaAndValue, ({ schema, value }) => {
        const { value: pruned, unknownFields } = compileSchema(root(schema)).prune({ spec: value });
        assert.equal(unknownFields.length > 0, !jsonEqual(pruned, { spec: value }));
      }),
      runs,
    );
  });

  it("leaves what is valid valid and unchanged", () => {
    let valid = 0;
    fc.assert(
      fc.property(schemaAndValue, ({ schema, value }) => {
        const compiled = compileSchema(root(schema));
        const object = admit(compiled, { spec: value });
        if (compiled.validate(object).length > 0) return;
        valid++;
        assert.equal(compiled.prune(object).value, object);
        assert.equal(compiled.applyDefaults(object), object);
        assert.deepEqual(compiled.validate(admit(compiled, object)), []);
      }),
      runs,
    );
    assert.ok(valid > 50, `only ${valid} valid objects were seen`);
  });
});

describe("validation, over random schemas and objects", () => {
  it("forgives an object that did not change", () => {
    fc.assert(
      fc.property(schemaAndValue, ({ schema, value }) => {
        const compiled = compileSchema(root(schema));
        const object = { spec: value };
        const embedded = compiled
          .validate(object, { old: cloneJson(object) })
          .filter(({ field }) => !/(apiVersion|kind|metadata.*)$/.test(field));
        assert.deepEqual(embedded, []);
      }),
      runs,
    );
  });

  it("finds in an update nothing that it does not find in a new object", () => {
    fc.assert(
      fc.property(schemaAndValue, arbitraryValue, ({ schema, value }, old) => {
        const compiled = compileSchema(root(schema));
        const all = new Set(
          compiled.validate({ spec: value }).map((error) => JSON.stringify(error)),
        );
        for (const error of compiled.validate({ spec: value }, { old: { spec: old } }))
          assert.ok(all.has(JSON.stringify(error)), JSON.stringify(error));
      }),
      runs,
    );
  });

  it("finds the same by shared nodes as by separate ones", () => {
    fc.assert(
      fc.property(arbitrarySchema, arbitraryValue, (schema, value) => {
        // Equal sub-schemas become one node in the first; a limit that never bites keeps them apart
        // in the second.
        const twice = { type: "object", properties: { p: schema, q: schema } };
        const apart = {
          type: "object",
          properties: { p: schema, q: { ...schema, maxProperties: 1000 } },
        };
        const object = { p: value, q: value };
        const texts = (json: JsonObject): string[] =>
          compileSchema(json)
            .validate(object)
            .map(({ field, body }) => `${field} ${body}`);
        assert.deepEqual(texts(twice), texts(apart));
      }),
      runs,
    );
  });
});
