import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cloneJson, type JsonValue, jsonDepthMax } from "../json/index.ts";
import {
  applyJsonPatch,
  applyJsonPatchResumable,
  jsonPatchCopiedBytesMax,
  jsonPatchOperationsMax,
  jsonPatchShiftedItemsMax,
  PatchError,
  patchStatusError,
  readJsonPatch,
} from "./index.ts";

function check(document: JsonValue, operations: JsonValue): JsonValue {
  const before = cloneJson(document);
  const patch = readJsonPatch({ value: operations, duplicates: [] });
  const patched = applyJsonPatch(document, patch);
  assert.deepEqual(document, before, "the input is left alone");
  assert.deepEqual(applyJsonPatch(document, patch), patched, "a patch can be applied again");
  return patched;
}

function refusal(document: JsonValue, operations: JsonValue): PatchError {
  try {
    check(document, operations);
  } catch (error) {
    if (error instanceof PatchError) return error;
    throw error;
  }
  throw new Error("the patch applies");
}

describe("the limits of a JSON patch", () => {
  it("are 10,000 operations", () => {
    const operations = (count: number) => ({
      value: Array.from({ length: count }, () => ({ op: "test", path: "/a", value: 1 })),
      duplicates: [],
    });
    assert.deepEqual(applyJsonPatch({ a: 1 }, readJsonPatch(operations(jsonPatchOperationsMax))), {
      a: 1,
    });
    assert.throws(
      () => readJsonPatch(operations(jsonPatchOperationsMax + 1)),
      (error) => {
        assert.ok(error instanceof PatchError);
        const { status } = patchStatusError(error);
        assert.deepEqual(
          [status.code, status.reason, status.message],
          [
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
          ],
        );
        return true;
      },
    );
  });

  it("leave no operation that copies much in one step", () => {
    const large = Array.from({ length: 60_000 }, (_, at) => at);
    for (const operation of [
      { op: "copy", from: "/large", path: "/copy" },
      { op: "add", path: "/copy", value: large },
      { op: "replace", path: "/copy", value: large },
    ]) {
      const isCopy = operation.op === "copy";
      const patch = readJsonPatch({ value: [operation], duplicates: [] });
      const work = applyJsonPatchResumable(isCopy ? { large } : { copy: [] }, patch);
      let steps = 0;
      let next = work.next();
      for (; next.done !== true; next = work.next()) steps++;
      assert.deepEqual((next.value as { copy: JsonValue }).copy, large);
      // Cloning 60,000 values takes twelve steps, and looking at their depth sixty.
      assert.ok(steps > (isCopy ? 180 : 70), `${operation.op} in ${steps} steps`);
    }
  });

  it("are the bytes that copies add", () => {
    // Two bytes for the quotes, three for every euro sign.
    const text = (bytes: number) =>
      "€".repeat(Math.floor((bytes - 2) / 3)) + "x".repeat((bytes - 2) % 3);
    const copy = [{ op: "copy", from: "/a", path: "/b" }];
    assert.ok(check({ a: text(jsonPatchCopiedBytesMax) }, copy));
    assert.equal(
      refusal({ a: text(jsonPatchCopiedBytesMax + 1) }, copy).message,
      `Unable to complete the copy, the accumulated size increase of copy is ${jsonPatchCopiedBytesMax + 1}, exceeding the limit ${jsonPatchCopiedBytesMax}`,
    );
    const doubling = Array.from({ length: 40 }, (_, i) => ({
      op: "copy",
      from: "/a",
      path: `/a/${i}`,
    }));
    assert.match(refusal({ a: { x: "y".repeat(100) } }, doubling).message, /exceeding the limit/);
  });

  it("are the array items that inserts shift", () => {
    const items = Array.from({ length: jsonPatchShiftedItemsMax / 20 }, () => 0);
    // Each pair of operations shifts the whole array once and leaves its length as it was.
    const pairs = (count: number): JsonValue =>
      Array.from({ length: count }, () => [
        { op: "remove", path: "/0" },
        { op: "add", path: "/-", value: 1 },
      ]).flat();
    const apply = (count: number) =>
      applyJsonPatch(items, readJsonPatch({ value: pairs(count), duplicates: [] }));
    assert.ok(apply(20));
    assert.throws(() => apply(21), /shifts or compares more than 20000000 items/);
  });

  it("are the members that tests look at", () => {
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 0]));
    const tests = (count: number): JsonValue => [
      ...Array.from({ length: count }, () => ({ op: "test", path: "/a", value: wide })),
    ];
    const apply = (count: number) =>
      applyJsonPatch({ a: wide }, readJsonPatch({ value: tests(count), duplicates: [] }));
    assert.ok(apply(10));
    const limit = jsonPatchShiftedItemsMax / 200_000;
    assert.throws(() => apply(limit + 1), /shifts or compares more than 20000000 items/);
  });

  it("are the levels of nesting that moves can build", () => {
    const wrap = (levels: number): JsonValue[] =>
      Array.from({ length: levels }, (_, i) => [
        { op: "add", path: `/${(i + 1) % 2}`, value: {} },
        { op: "move", from: `/${i % 2}`, path: `/${(i + 1) % 2}/x` },
      ]).flat();
    // The document itself and the innermost object are two levels.
    assert.ok(check({ 0: {} }, wrap(jsonDepthMax - 2)));
    assert.equal(
      refusal({ 0: {} }, wrap(jsonDepthMax - 1)).message,
      `exceeded max depth of ${jsonDepthMax} levels`,
    );
  });
});
