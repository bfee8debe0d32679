import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "../base/index.ts";
import type { JsonObject, JsonValue } from "../json/index.ts";
import {
  comparedItemsMax,
  compileSchema,
  crdVersionsMax,
  defaultCustomResourceDefinition,
  defaultedTextMax,
  defaultedValuesMax,
  definitionNodesMax,
  enumValuesMax,
  errorsHeldMax,
  errorsMax,
  errorsTextMax,
  patternLengthMax,
  patternWeightMax,
  patternWorkMax,
  readCustomResourceDefinition,
  readSchema,
  schemaDepthMax,
  schemaNodesMax,
  shownTextMax,
  unknownFieldsMax,
  validateCustomResourceDefinitionResumable,
  validationStepsMax,
} from "./index.ts";
import { alternativeStepsMax } from "./limits.ts";
import { compilePattern, patternWeight } from "./pattern.ts";

const problems = (json: JsonValue): readonly string[] =>
  readSchema(json, { path: "s" }).problems.map((text) => text.replace(/^.*: /, ""));

function repeat<Value>(count: number, value: Value): Value[] {
  return Array.from({ length: count }, () => value);
}

const under = (schema: JsonObject): JsonObject => ({ type: "object", properties: { x: schema } });

function fields(count: number, schema: (i: number) => JsonObject): JsonObject {
  const entries = Array.from({ length: count }, (_, i) => [`p${i}`, schema(i)] as const);
  return { type: "object", properties: Object.fromEntries(entries) };
}

const bodies = (schema: JsonObject, value: JsonValue, old?: JsonValue): string[] =>
  compileSchema(under(schema))
    .validate({ x: value }, old === undefined ? {} : { old: { x: old } })
    .map(({ body }) => body);

function judge(
  versions: readonly JsonObject[],
): ReturnType<typeof validateCustomResourceDefinitionResumable> {
  const { definition } = readCustomResourceDefinition(
    defaultCustomResourceDefinition({
      metadata: { name: "foos.example.com" },
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { plural: "foos", kind: "Foo" },
        versions,
      },
    }),
  );
  return validateCustomResourceDefinitionResumable(definition, undefined);
}

describe("limits of a schema", () => {
  it("depth", () => {
    const nested = (levels: number): JsonObject => {
      let schema: JsonObject = { type: "string" };
      for (let i = 1; i < levels; i++) schema = { type: "array", items: schema };
      return schema;
    };
    assert.deepEqual(problems(nested(schemaDepthMax)), []);
    assert.deepEqual(problems(nested(schemaDepthMax + 1)), [
      `must not be nested deeper than ${schemaDepthMax} levels`,
    ]);
  });

  it("sub-schemas", () => {
    const leaf = { type: "string" };
    assert.deepEqual(problems(fields(schemaNodesMax - 1, () => leaf)), []);
    assert.deepEqual(problems(fields(schemaNodesMax, () => leaf)), [
      `must not have more than ${schemaNodesMax} sub-schemas`,
    ]);
  });

  it("sub-schemas of all versions of a definition together", () => {
    const leaf = { type: "string" };
    const version = (name: string, nodes: number): JsonObject => ({
      name,
      served: true,
      storage: name === "v1",
      schema: { openAPIV3Schema: fields(nodes - 1, () => leaf) },
    });
    const errors = (extra: number) => {
      const half = definitionNodesMax / 2;
      const versions = [version("v1", half), version("v2", half - 2), version("v3", 2 + extra)];
      return runSync(judge(versions)).map(({ field, body }) => `${field}: ${body}`);
    };
    assert.deepEqual(errors(0), []);
    assert.deepEqual(errors(1), [
      `spec.versions: Forbidden: must not have more than ${definitionNodesMax} sub-schemas in all versions together`,
    ]);
  });

  it("a CRD is validated resumably, one version per step", () => {
    const seen: string[] = [];
    // Every read of the fields of a version's schema records the version's name.
    const version = (name: string): JsonObject => {
      const { properties } = fields(50, () => ({ type: "string" }));
      const schema = { type: "object", description: name } as Record<string, JsonValue>;
      Object.defineProperty(schema, "properties", {
        enumerable: true,
        get: () => {
          seen.push(name);
          return properties;
        },
      });
      return { name, served: true, storage: name === "v1", schema: { openAPIV3Schema: schema } };
    };
    const pieces = judge([version("v1"), version("v2"), version("v3")]);
    let count = 0;
    for (let step = pieces.next(); step.done !== true; step = pieces.next()) {
      count++;
      assert.ok(new Set(seen.splice(0)).size <= 1);
    }
    // Each version is read, its structure judged, its keywords judged.
    assert.ok(count >= 3 * 3, `${count} pieces`);
  });

  it("values of an enum", () => {
    assert.deepEqual(problems({ enum: repeat(enumValuesMax, "a") }), []);
    assert.deepEqual(problems({ enum: repeat(enumValuesMax + 1, "a") }), [
      `must not have more than ${enumValuesMax} values`,
    ]);
  });

  it("length of a pattern", () => {
    assert.deepEqual(problems({ pattern: "a".repeat(patternLengthMax) }), []);
    assert.deepEqual(problems({ pattern: "a".repeat(patternLengthMax + 1) }), [
      `must not be longer than ${patternLengthMax} characters`,
    ]);
  });

  it("weight of the distinct patterns together", () => {
    // Sixteen characters each.
    const distinct = (count: number): JsonObject =>
      fields(count, (i) => ({ type: "string", pattern: `^a${String(i).padStart(13, "0")}$` }));
    assert.equal(patternWeight("^a0000000000000$"), 16);
    assert.ok(patternWeight("\\pL{1,100}") > 400);
    assert.deepEqual(problems(distinct(patternWeightMax / 16)), []);
    assert.deepEqual(problems(distinct(patternWeightMax / 16 + 1)), [
      `must not weigh more than ${patternWeightMax} together with the schema's other patterns`,
    ]);
    const same = fields(5_000, () => ({ type: "string", pattern: "^a0000000000$" }));
    assert.deepEqual(problems(same), []);
  });

  it("versions of a definition", () => {
    const read = (count: number): readonly string[] =>
      readCustomResourceDefinition({ spec: { versions: repeat(count, {}) } }).problems;
    assert.deepEqual(read(crdVersionsMax), []);
    assert.deepEqual(read(crdVersionsMax + 1), [
      `spec.versions: must not have more than ${crdVersionsMax} entries`,
    ]);
  });
});

describe("limits of an object", () => {
  it("steps of a validation", () => {
    // The root, the list and its items take one step each.
    const schema = { type: "array", items: { type: "object" } };
    assert.deepEqual(bodies(schema, repeat(validationStepsMax - 2, {})), []);
    assert.deepEqual(bodies(schema, repeat(validationStepsMax - 1, {})), [
      `Invalid value: "": validating the object takes more than ${validationStepsMax} steps`,
    ]);
  });

  it("steps that the alternatives of one value take", () => {
    const text = { type: "string" };
    const below = { type: "array", items: text, anyOf: [{ items: { maxLength: 1 } }] };
    assert.deepEqual(bodies(below, repeat(alternativeStepsMax - 1, "a")), []);
    assert.deepEqual(bodies(below, repeat(alternativeStepsMax, "a")), [
      `Invalid value: "": trying the alternatives of one value takes more than ${alternativeStepsMax} steps`,
    ]);
    const each = { type: "array", items: { ...text, anyOf: [{ maxLength: 0 }, { maxLength: 1 }] } };
    assert.deepEqual(bodies(each, repeat(alternativeStepsMax, "a")), [], "each value has its own");
  });

  it("work of matching patterns", () => {
    const pattern = compilePattern("^a*$");
    assert.ok(!(pattern instanceof Error));
    const length = Math.floor(patternWorkMax / pattern.instructions);
    const schema = { type: "string", pattern: "^a*$" };
    assert.deepEqual(bodies(schema, "a".repeat(length)), []);
    assert.deepEqual(bodies(schema, "a".repeat(length + 1)), [
      `Invalid value: "": matching the object's texts with patterns takes more than ${patternWorkMax} steps`,
    ]);
  });

  it("values and text that defaults add", () => {
    const admit = (value: JsonValue, count: number): unknown =>
      compileSchema(
        under({
          type: "array",
          items: {
            type: "object",
            properties: { a: { default: value, "x-kubernetes-preserve-unknown-fields": true } },
          },
        }),
      ).admit({ x: repeat(count, {}) });
    assert.ok(admit(1, defaultedValuesMax));
    assert.throws(() => admit(1, defaultedValuesMax + 1), {
      name: "SchemaLimitError",
      message: `defaults add more than ${defaultedValuesMax} values`,
    });
    const text = "t".repeat(1024);
    assert.ok(admit(text, defaultedTextMax / 1024));
    assert.throws(() => admit(text, defaultedTextMax / 1024 + 1), {
      name: "SchemaLimitError",
      message: `defaults add more than ${defaultedTextMax} characters`,
    });
  });

  it("items that are compared", () => {
    const schema = { type: "array", "x-kubernetes-list-type": "set", items: { type: "integer" } };
    const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
    assert.deepEqual(bodies(schema, numbers(comparedItemsMax)), []);
    assert.deepEqual(bodies(schema, numbers(comparedItemsMax + 1)), [
      `Invalid value: "": the lists of type set and map have more than ${comparedItemsMax} items`,
    ]);
  });

  it("errors that are reported", () => {
    const schema = { type: "array", items: { type: "integer" } };
    assert.equal(bodies(schema, repeat(errorsMax, "a")).length, errorsMax);
    assert.equal(bodies(schema, repeat(errorsMax + 1, "a")).length, errorsMax);
  });

  it("errors that are held while some may yet be forgiven", () => {
    const schema = { type: "array", items: { type: "integer" } };
    assert.equal(bodies(schema, repeat(errorsHeldMax, "a"), []).length, errorsMax);
    assert.deepEqual(bodies(schema, repeat(errorsHeldMax + 1, "a"), []), [
      `Invalid value: "": the object has more than ${errorsHeldMax} errors`,
    ]);
  });

  it("text of the errors together", () => {
    const schema = { type: "array", items: { type: "string", minLength: 100_000 } };
    const texts = bodies(schema, repeat(errorsMax, "a".repeat(shownTextMax)));
    const total = texts.reduce((sum, text) => sum + text.length, 0);
    assert.ok(total <= errorsTextMax, `${total}`);
    assert.ok(total > errorsTextMax - 2 * shownTextMax, `${total}`);
  });

  it("text of a value in an error", () => {
    const schema = { type: "string", pattern: "^b" };
    const shown = (length: number): string | undefined =>
      /^Invalid value: "(a+…?)"/.exec(bodies(schema, "a".repeat(length))[0] ?? "")?.[1];
    assert.equal(shown(shownTextMax), "a".repeat(shownTextMax));
    assert.equal(shown(shownTextMax + 1), `${"a".repeat(shownTextMax)}…`);
  });

  it("unknown fields that are named", () => {
    const schema = compileSchema({ type: "object" });
    const object = (count: number): JsonObject =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`u${i}`, 1]));
    assert.equal(schema.prune(object(unknownFieldsMax)).unknownFields.length, unknownFieldsMax);
    assert.equal(schema.prune(object(unknownFieldsMax + 1)).unknownFields.length, unknownFieldsMax);
    assert.deepEqual(schema.prune(object(unknownFieldsMax + 1)).value, {});
  });

  it("depth: the deepest object that the parser accepts can be validated", () => {
    const nested = (levels: number): JsonValue => {
      let value: JsonValue = {};
      for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value };
      return value;
    };
    const deep = { x: nested(998) };
    for (const schema of [
      { "x-kubernetes-preserve-unknown-fields": true },
      { type: "object", additionalProperties: true },
      {
        type: "array",
        "x-kubernetes-list-type": "set",
        items: { "x-kubernetes-preserve-unknown-fields": true },
      },
      { type: "object", enum: [deep] },
    ]) {
      const compiled = compileSchema(under(schema as JsonObject));
      compiled.validate(compiled.admit(deep).value, { old: deep });
    }
  });
});
