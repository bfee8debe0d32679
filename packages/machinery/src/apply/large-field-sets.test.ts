/** Sets of very many fields are made, read and sorted in steps, with the result of one step. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Resumable, runSync } from "../base/index.ts";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { createdFields, createdFieldsResumable } from "./created-fields.ts";
import {
  isLargeFieldSet,
  readFieldSet,
  readFieldSetResumable,
  sortFieldSet,
  sortFieldSetResumable,
} from "./fields-v1.ts";
import { objectType } from "./object-type.ts";
import { sortElements, sortElementsResumable } from "./path-element.ts";
import { keyedListType, setType, stringType, structType } from "./type-schema.ts";
import { updateResumable } from "./update-managed-fields.ts";

const port = structType({ name: stringType, port: stringType, protocol: stringType });
const type = objectType({
  spec: structType({ ports: keyedListType(["port", "protocol"], port), set: setType(stringType) }),
});

const count = 5000;
const ports = Array.from({ length: count }, (_, i) => ({
  name: `p${i}`,
  port: `${(i * 7919) % count}`,
  protocol: "TCP",
}));
const metadata = { name: "x" };
const service = { apiVersion: "v1", kind: "Service", metadata, spec: { ports } };

/** The result, and the number of steps before it. */
function stepped<Result>(work: Resumable<Result>): { result: Result; steps: number } {
  for (let steps = 0; ; steps++) {
    const { done, value } = work.next();
    if (done === true) return { result: value, steps };
  }
}

function assertSteps(steps: number): void {
  assert.ok(steps >= count / 500, `${steps} steps`);
}

describe("a set of the fields of a long keyed list", () => {
  const fields = createdFields(service as unknown as JsonObject, type, undefined);

  it("is made in steps", () => {
    const { result, steps } = stepped(
      createdFieldsResumable(service as unknown as JsonObject, type, undefined),
    );
    assert.deepEqual(result, fields);
    assertSteps(steps);
  });

  it("is sorted in steps", () => {
    assert.equal(isLargeFieldSet(fields), true);
    const { result, steps } = stepped(sortFieldSetResumable(fields));
    assert.equal(JSON.stringify(result), JSON.stringify(sortFieldSet(fields)));
    assertSteps(steps);
  });

  it("that a client sends is read in steps", () => {
    const { result, steps } = stepped(readFieldSetResumable(fields as JsonValue));
    assert.deepEqual(result, readFieldSet(fields as JsonValue));
    assertSteps(steps);
  });

  it("is read and written in steps by an update that sends managedFields", () => {
    const entry = {
      manager: "m",
      operation: "Update",
      apiVersion: "v1",
      fieldsType: "FieldsV1",
      fieldsV1: fields as JsonObject,
    };
    const stored = (fieldsV1: object) => ({
      ...service,
      metadata: { ...metadata, managedFields: [{ ...entry, fieldsV1 }] },
    });
    const { steps } = stepped(
      updateResumable({
        live: stored({}) as unknown as JsonObject,
        updated: stored(fields) as unknown as JsonObject,
        manager: "n",
        apiVersion: "v1",
        now: "2026-01-01T00:00:00Z",
        schema: type,
      }),
    );
    // Read and sorted.
    assertSteps(steps / 2);
  });
});

describe("elements of a path", () => {
  const element = fc.oneof(
    fc.nat(2000).map((i) => `f:n${i}`),
    fc.nat(2000).map((i) => `k:{"name":"n${i}"}`),
    fc.nat(2000).map((i) => `v:"n${i}"`),
    fc.nat(2000).map((i) => `v:${i}`),
    fc.nat(2000).map((i) => `i:${i}`),
  );

  it("have the same order when they are sorted in steps", () => {
    fc.assert(
      fc.property(fc.uniqueArray(element, { maxLength: 1500, size: "max" }), (elements) => {
        assert.deepEqual(runSync(sortElementsResumable(elements)), sortElements(elements));
      }),
      { numRuns: 30 },
    );
  });
});
