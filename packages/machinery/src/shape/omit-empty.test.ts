import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  configMap,
  customResourceDefinition,
  decodeShape,
  flowSchema,
  jsonSchemaProps,
  role,
  unownedFieldsOf,
} from "./index.ts";

describe("empty values of an object", () => {
  it("empty maps and lists are left out", () => {
    const value = { metadata: { name: "x", labels: {}, finalizers: [] }, data: {} };
    assert.deepEqual(decodeShape(configMap, value).value, { metadata: { name: "x" } });
  });

  it("an empty list is kept where a list is required, or where an empty list has a meaning of its own", () => {
    const value = { metadata: { managedFields: [] }, rules: [] };
    assert.deepEqual(decodeShape(role, value).value, value);
  });

  it("is left out: false and zero of members that have no other way to be absent", () => {
    const value = { type: "object", nullable: false, maxLength: 0 };
    assert.deepEqual(decodeShape(jsonSchemaProps, value).value, { type: "object", maxLength: 0 });
  });

  it("cannot be owned: structs that every object has", () => {
    assert.deepEqual(unownedFieldsOf(customResourceDefinition), {
      "f:spec": { ".": {}, "f:names": {} },
      "f:status": { ".": {}, "f:acceptedNames": {} },
    });
    assert.deepEqual(unownedFieldsOf(flowSchema), {
      "f:spec": { ".": {}, "f:priorityLevelConfiguration": {} },
      "f:status": {},
    });
    assert.equal(unownedFieldsOf(configMap), undefined);
  });
});
