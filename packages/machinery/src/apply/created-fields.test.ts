import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { runSync } from "../base/index.ts";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { createdFields, createdFieldsResumable } from "./created-fields.ts";
import { sortFieldSet } from "./fields-v1.ts";
import { objectType } from "./object-type.ts";
import { resetFieldsOf } from "./system-fields.ts";
import {
  keyedListType,
  listType,
  mapType,
  setType,
  stringType,
  structType,
} from "./type-schema.ts";
import { membersPerYield } from "./typed-field-set.ts";
import { recordUpdate } from "./update-managed-fields.ts";

const type = objectType({
  data: mapType(stringType),
  spec: structType({
    name: stringType,
    set: setType(stringType),
    list: listType(stringType),
    items: keyedListType(["name"], structType({ name: stringType, value: stringType })),
  }),
  status: structType({ phase: stringType }),
});

const word = fc.constantFrom("a", "b", "c");
const words = fc.dictionary(word, word);
const object = fc.record(
  {
    apiVersion: fc.constant("v1"),
    kind: fc.constant("Thing"),
    metadata: fc.record(
      {
        name: word,
        uid: word,
        labels: words,
        annotations: words,
        finalizers: fc.uniqueArray(word),
        ownerReferences: fc.uniqueArray(fc.record({ uid: word, name: word }), {
          selector: ({ uid }) => uid,
        }),
        generateName: word,
      },
      { requiredKeys: ["name"] },
    ),
    data: words,
    spec: fc.record(
      {
        name: word,
        set: fc.uniqueArray(word),
        list: fc.array(word),
        items: fc.uniqueArray(fc.record({ name: word, value: word }), {
          selector: ({ name }) => name,
        }),
      },
      { requiredKeys: [] },
    ),
    status: fc.record({ phase: word }, { requiredKeys: [] }),
    unknown: fc.jsonValue() as fc.Arbitrary<JsonValue>,
  },
  { requiredKeys: ["apiVersion", "kind", "metadata"] },
);

describe("createdFields", () => {
  it("is what comparing the object with nothing gives", () => {
    fc.assert(
      fc.property(object, fc.boolean(), (value, hasStatus) => {
        const created = value as unknown as JsonObject;
        const resetFields = hasStatus ? resetFieldsOf(["status"]) : undefined;
        const write = {
          manager: "m",
          apiVersion: "v1",
          now: "2026-01-01T00:00:00Z",
          schema: type,
          resetFields,
        };
        const [compared] = [...runSync(recordUpdate(new Map(), {}, created, write)).values()];
        const fields = createdFields(created, type, resetFields);
        assert.deepEqual(sortFieldSet(fields), sortFieldSet(compared?.fields ?? {}));
        assert.deepEqual(runSync(createdFieldsResumable(created, type, resetFields)), fields);
      }),
    );
  });

  it("of a large object rests on the way", () => {
    const members = Array.from({ length: 11 * membersPerYield }, (_, i) => [`k${i}`, "v"]);
    const large = { apiVersion: "v1", kind: "X", unknown: Object.fromEntries(members) };
    let rests = 0;
    for (const work = createdFieldsResumable(large, type, undefined); !work.next().done; ) rests++;
    assert.ok(rests >= 10, `${rests} rests`);
  });
});
