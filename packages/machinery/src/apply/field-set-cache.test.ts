/**
 * Remembering changes nothing but the cost: every create owns what it would own if nothing was
 * remembered.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { createdFields } from "./created-fields.ts";
import {
  cachedFieldSet,
  outlineCharactersMax,
  outlineLengthMax,
  outlinesMax,
} from "./field-set-cache.ts";
import { sortFieldSet } from "./fields-v1.ts";
import { objectType } from "./object-type.ts";
import { resetFieldsOf } from "./system-fields.ts";
import {
  atomicType,
  deducedType,
  keyedListType,
  listType,
  mapType,
  setType,
  stringType,
  structType,
  type TypeSchema,
} from "./type-schema.ts";

const types: readonly TypeSchema[] = [
  objectType({
    data: mapType(stringType),
    spec: structType({
      set: setType(stringType),
      list: listType(stringType),
      items: keyedListType(["name"], structType({ name: stringType })),
      whole: atomicType(mapType(stringType)),
    }),
    status: structType({ phase: stringType }),
  }),
  objectType({ data: atomicType(mapType(stringType)), spec: deducedType }),
  deducedType,
];
const resets = [undefined, resetFieldsOf(["status"])];

// Names that look like parts of an outline.
const word = fc.constantFrom("a", "b", "1:a", "a.", "(", ")", "1:a.1:b", "__proto__");
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  word,
  fc.constant(null),
  fc.array(word, { maxLength: 2 }),
  fc.dictionary(word, fc.oneof(word, fc.dictionary(word, word, { maxKeys: 2 })), { maxKeys: 3 }),
);
const object = fc.record(
  {
    apiVersion: fc.constant("v1"),
    metadata: fc.record(
      { name: word, uid: word, labels: value, generateName: word },
      { requiredKeys: [] },
    ),
    data: value,
    spec: fc.oneof(
      value,
      fc.record(
        {
          set: fc.array(word, { maxLength: 3 }),
          list: fc.array(word),
          items: fc.array(
            fc.oneof(word, fc.dictionary(fc.oneof(word, fc.constant("name")), value)),
            { maxLength: 3 },
          ),
          whole: value,
        },
        { requiredKeys: [] },
      ),
    ),
    status: value,
    other: value,
  },
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<JsonObject>;

describe("remembered fields", () => {
  it("are those of every object, whatever was seen before", () => {
    const write = fc.record({
      object,
      schema: fc.constantFrom(...types),
      resetFields: fc.constantFrom(...resets),
    });
    fc.assert(
      fc.property(fc.array(write, { minLength: 1, maxLength: 20 }), (writes) => {
        for (const { object: created, schema, resetFields } of writes) {
          const make = () => sortFieldSet(createdFields(created, schema, resetFields));
          const fields = cachedFieldSet(created, { schema, resetFields }, make);
          if (fields === undefined) continue;
          assert.deepEqual(fields, make());
          assert.equal(JSON.stringify(fields), JSON.stringify(make()), "also their order");
        }
      }),
      { numRuns: 500 },
    );
  });

  const schema = types[0] as TypeSchema;
  const fieldsOf = (created: JsonObject) => {
    let isMade = false;
    const fields = cachedFieldSet(created, { schema }, () => {
      isMade = true;
      return sortFieldSet(createdFields(created, schema, undefined));
    });
    return { fields, isMade };
  };

  it("are made once for objects of the same names, and cannot be changed", () => {
    assert.equal(fieldsOf({ data: { once: "1" } }).isMade, true);
    const { fields, isMade } = fieldsOf({ data: { once: "2" } });
    assert.equal(isMade, false);
    assert.ok(Object.isFrozen(fields) && Object.isFrozen(fields?.["f:data"]));
  });

  it("are made once for lists of the same keys, and again for other keys", () => {
    const named = (...names: string[]) => ({ spec: { items: names.map((name) => ({ name })) } });
    assert.equal(fieldsOf(named("a", "b")).isMade, true);
    assert.equal(fieldsOf(named("a", "b")).isMade, false);
    assert.equal(fieldsOf(named("b", "a")).isMade, true);
    assert.equal(fieldsOf(named("a")).isMade, true);
  });

  it("are forgotten beyond a number of characters", () => {
    const long = (i: number) => ({ data: { ["x".repeat(outlineLengthMax - 100) + i]: "" } });
    const count = Math.ceil(outlineCharactersMax / (outlineLengthMax - 100)) + 1;
    for (let i = 0; i < count; i++) fieldsOf(long(i));
    assert.equal(fieldsOf(long(count - 1)).isMade, false);
    assert.equal(fieldsOf(long(0)).isMade, true);
  });

  it("are forgotten beyond a number, and never kept for long outlines", () => {
    fieldsOf({ data: { first: "" } });
    for (let i = 0; i < outlinesMax; i++) fieldsOf({ data: { [`n${i}`]: "" } });
    assert.equal(fieldsOf({ data: { [`n${outlinesMax - 1}`]: "" } }).isMade, false);
    assert.equal(fieldsOf({ data: { first: "" } }).isMade, true);
    const long = { data: { ["x".repeat(outlineLengthMax)]: "" } };
    assert.deepEqual(fieldsOf(long), { fields: undefined, isMade: false });
  });
});
