/**
 * Properties over random schemas and objects. The four walks of Kubernetes (prune, drop nulls, coerce, default) are written down here once
 * more, plainly and one after the other, as the model that the one-pass walk has to agree with.
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
import { type CompiledSchema, compileSchema, readSchema, shape, validateSchema } from "./index.ts";
import {
  arbitraryFitting,
  arbitrarySchema,
  arbitraryValue,
} from "./test-support/arbitrary-schema.ts";

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
const schemaAndValue = arbitrarySchema.chain(withDefaults).chain((schema) =>
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
        // Equal sub-schemas become one node in the first; a limit that never bites keeps them apart in the second.
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

describe("reading, over any JSON", () => {
  it("never throws, and what can be read can be judged and used", () => {
    const keyword = fc.constantFrom(
      "type",
      "properties",
      "items",
      "additionalProperties",
      "allOf",
      "not",
      "enum",
      "default",
      "required",
      "pattern",
      "maximum",
      "x-kubernetes-list-type",
      "x-kubernetes-validations",
      "$ref",
      "__proto__",
    );
    const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom<JsonValue>("object", "array", "string", "(", 1, true, null, "map"),
        fc.dictionary(keyword, tie("json"), { noNullPrototype: true }),
        fc.array(tie("json"), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(
        fc.dictionary(keyword, json, { noNullPrototype: true }),
        arbitraryValue,
        (schemaJson, value) => {
          const { schema, problems } = readSchema(schemaJson);
          assert.equal(schema === undefined, problems.length > 0);
          if (schema === undefined) return;
          validateSchema(schema, "schema");
          const compiled = compileSchema(schemaJson);
          compiled.validate(compiled.admit(value).value);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
