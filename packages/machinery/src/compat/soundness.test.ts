/**
 * The promise of the common schema, over random pairs of schemas and documents: what passes it
 * passes both, and loses nothing there.
 */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { runSync } from "../base/index.ts";
import { type JsonObject, type JsonValue, jsonEqual } from "../json/index.ts";
import {
  type CompiledSchema,
  compileSchemaProps,
  readSchema,
  type SchemaProps,
  type ShapeSteps,
  schemaToJson,
  shape,
} from "../schema/index.ts";
import { compareSchemas } from "./index.ts";

const names = ["a", "b", "c"] as const;

const scalar: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record(
    {
      type: fc.constant("string"),
      maxLength: fc.integer({ min: 0, max: 3 }),
      minLength: fc.integer({ min: 0, max: 2 }),
      pattern: fc.constantFrom("^a", "b$", "^[ab]*$"),
      enum: fc.uniqueArray(fc.constantFrom("a", "b", "ab"), { minLength: 1, maxLength: 3 }),
      default: fc.constantFrom("a", "ab", "zzzz"),
      format: fc.constantFrom("date", "byte"),
    },
    { requiredKeys: ["type"] },
  ),
  fc.record(
    {
      type: fc.constantFrom("integer", "number"),
      minimum: fc.integer({ min: 0, max: 3 }),
      maximum: fc.integer({ min: 1, max: 5 }),
      exclusiveMinimum: fc.boolean(),
      exclusiveMaximum: fc.boolean(),
      multipleOf: fc.constantFrom(1, 2, 3, 4),
      format: fc.constantFrom("int32", "int64"),
      default: fc.constantFrom(0, 2, 4),
    },
    { requiredKeys: ["type"] },
  ),
  fc.constant<JsonObject>({ type: "boolean" }),
  fc.constant<JsonObject>({ type: "boolean", default: true }),
  fc.constant<JsonObject>({ "x-kubernetes-int-or-string": true }),
  fc.constant<JsonObject>({ type: "integer", anyOf: [{ minimum: 3 }, { maximum: 1 }] }),
  fc.constant<JsonObject>({ type: "integer", not: { enum: [2] } }),
);

const { schema: anySchema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc
    .tuple(
      fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        scalar,
        fc
          .dictionary(fc.constantFrom(...names), tie("schema"), { maxKeys: 3 })
          .chain((properties) =>
            fc.record(
              {
                type: fc.constant("object"),
                properties: fc.constant(properties),
                required: fc.subarray(Object.keys(properties)),
                maxProperties: fc.integer({ min: 0, max: 3 }),
                "x-kubernetes-preserve-unknown-fields": fc.constant(true),
              },
              { requiredKeys: ["type", "properties"] },
            ),
          ),
        tie("schema").map((items) => ({ type: "array", items })),
        fc
          .tuple(tie("schema"), fc.nat(2))
          .map(([items, maxItems]) => ({ type: "array", items, maxItems })),
        tie("schema").map((additionalProperties) => ({ type: "object", additionalProperties })),
        fc.constant<JsonObject>({ "x-kubernetes-preserve-unknown-fields": true }),
      ),
      fc.boolean(),
    )
    .map(([json, nullable]) => (nullable ? { ...json, nullable: true } : json)),
}));

/** Two schemas, the second often a variant of the first. */
const pair = fc.oneof(
  fc.tuple(anySchema, anySchema),
  fc
    .tuple(
      fc.dictionary(fc.constantFrom(...names), anySchema, { minKeys: 1, maxKeys: 3 }),
      fc.dictionary(fc.constantFrom(...names), anySchema, { maxKeys: 1 }),
      fc.subarray([...names]),
    )
    .map(([properties, changed, required]): [JsonObject, JsonObject] => [
      { type: "object", properties },
      {
        type: "object",
        properties: { ...properties, ...changed },
        required: required.filter((name) => name in properties),
      },
    ]),
);

/** Values that a schema mostly allows. */
function valueFor(schema: SchemaProps): fc.Arbitrary<JsonValue> {
  const { type, properties, items, additionalProperties, enum: allowed } = schema;
  if (allowed !== undefined) return fc.constantFrom(...allowed);
  const any = fc.constantFrom<JsonValue>("a", "ab", "b", 0, 1, 2, 3, 4, 2.5, true, null, { a: 1 }, [
    "a",
  ]);
  if (type === "string") return fc.constantFrom<JsonValue>("", "a", "ab", "b", "aab", "2020-01-01");
  if (type === "integer") return fc.integer({ min: -1, max: 6 });
  if (type === "number") return fc.constantFrom<JsonValue>(0, 1, 2, 2.5, 3, 4);
  if (type === "boolean") return fc.boolean();
  if (type === "array") return fc.array(valueFor(items as SchemaProps), { maxLength: 3 });
  if (type !== "object") return any;
  const known = Object.fromEntries(
    [...(properties ?? [])].map(([name, each]) => [name, valueFor(each)]),
  );
  const others = typeof additionalProperties === "object" ? valueFor(additionalProperties) : any;
  return fc
    .tuple(
      fc.record(known, { requiredKeys: [] }),
      fc.dictionary(fc.constantFrom("x", "c"), others, { maxKeys: 1 }),
    )
    .map(([listed, more]) => ({ ...more, ...listed }) as JsonObject);
}

const steps: ShapeSteps = {
  prune: true,
  dropNulls: true,
  applyDefaults: true,
  malformedMetadata: "drop",
  isResourceRoot: false,
};

/** What a server with this schema makes of a document, or undefined when it refuses it. */
function accepted(schema: CompiledSchema, document: JsonValue): JsonValue | undefined {
  const { value } = shape(structuredClone(document), schema.root, steps);
  return schema.validate(value as JsonValue, {}).length === 0 ? (value as JsonValue) : undefined;
}

function props(json: JsonObject): SchemaProps {
  const { schema, problems } = readSchema(json);
  assert.ok(schema !== undefined, problems.join("; "));
  return schema;
}

/** Nothing that was in the document is missing: defaults may have been added. */
function isKept(before: JsonValue, after: JsonValue | undefined): boolean {
  if (Array.isArray(before))
    return Array.isArray(after) && before.every((each, at) => isKept(each, after[at] as JsonValue));
  if (typeof before !== "object" || before === null)
    return after !== undefined && jsonEqual(before, after);
  if (typeof after !== "object" || after === null) return false;
  const kept = after as JsonObject;
  return Object.entries(before).every(([name, each]) => isKept(each as JsonValue, kept[name]));
}

/** Defaults that their own schema refuses cannot be published. */
function withValidDefaults(json: JsonObject): JsonObject {
  const deeper = (value: JsonValue | undefined) => withValidDefaults(value as JsonObject);
  const result: Record<string, JsonValue> = { ...json };
  if (json["items"] !== undefined) result["items"] = deeper(json["items"]);
  if (json["additionalProperties"] !== undefined)
    result["additionalProperties"] = deeper(json["additionalProperties"]);
  if (json["properties"] !== undefined)
    result["properties"] = Object.fromEntries(
      Object.entries(json["properties"] as JsonObject).map(([name, each]) => [name, deeper(each)]),
    );
  const { default: value, ...without } = result;
  const errors = value === undefined ? [] : compileSchemaProps(props(without)).validate(value, {});
  return errors.length === 0 ? result : without;
}

const withDocuments = pair.chain(([one, other]) => {
  const [existing, next] = [withValidDefaults(one), withValidDefaults(other)];
  const { common } = runSync(compareSchemas(props(existing), props(next)));
  const documents = fc.array(valueFor(common ?? props(existing)), { minLength: 1, maxLength: 8 });
  return fc.record({ existing: fc.constant(existing), next: fc.constant(next), documents });
});

describe("the common schema of two", () => {
  let passed = 0;
  let narrowed = 0;

  it("allows nothing that one of them refuses or drops", () => {
    fc.assert(
      fc.property(withDocuments, ({ documents, ...pairOfJson }) => {
        const [existing, next] = [props(pairOfJson.existing), props(pairOfJson.next)];
        const { common, verdict: validationResult } = runSync(compareSchemas(existing, next));
        if (common === undefined) return;
        if (validationResult === "narrowable") narrowed++;
        const compiled = compileSchemaProps(common);
        const members = [existing, next].map((each) => compileSchemaProps(each));
        for (const document of documents) {
          const agreed = accepted(compiled, document);
          if (agreed === undefined) continue;
          passed++;
          for (const member of members) {
            const kept = accepted(member, agreed);
            assert.ok(kept !== undefined, `${JSON.stringify(agreed)} is refused`);
            assert.ok(
              isKept(agreed, kept),
              `${JSON.stringify(agreed)} became ${JSON.stringify(kept)}`,
            );
          }
        }
      }),
      { numRuns: 3000 },
    );
    assert.ok(
      passed > 1000 && narrowed > 200,
      `${passed} documents passed, ${narrowed} were narrowed`,
    );
  });

  it("is the existing one, when the next allows all of it", () => {
    let compatible = 0;
    fc.assert(
      fc.property(withDocuments, ({ documents, ...pairOfJson }) => {
        const [existing, next] = [props(pairOfJson.existing), props(pairOfJson.next)];
        if (runSync(compareSchemas(existing, next)).verdict !== "compatible") return;
        compatible++;
        const [before, after] = [compileSchemaProps(existing), compileSchemaProps(next)];
        for (const document of documents) {
          const agreed = accepted(before, document);
          if (agreed === undefined) continue;
          assert.ok(isKept(agreed, accepted(after, agreed)), JSON.stringify(agreed));
        }
      }),
      { numRuns: 3000 },
    );
    assert.ok(compatible > 100, `${compatible} pairs`);
  });

  it("of a schema with itself is that schema", () => {
    fc.assert(
      fc.property(anySchema, (json) => {
        const {
          verdict: validationResult,
          common,
          findings,
        } = runSync(compareSchemas(props(json), props(structuredClone(json))));
        // A default that its own schema refuses cannot be published, and is not asked of us.
        if (findings.some(({ message }) => message.startsWith("the default"))) return;
        assert.equal(validationResult, "compatible");
        assert.deepEqual(schemaToJson(common as SchemaProps), schemaToJson(props(json)));
      }),
    );
  });
});
