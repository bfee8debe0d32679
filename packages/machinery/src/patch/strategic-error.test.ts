import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import {
  applyStrategicMergePatch,
  type PatchError,
  patchSchema,
  patchStatusError,
} from "./index.ts";

const schema = patchSchema({
  items: { strategy: "merge", mergeKey: "name" },
  finalizers: { strategy: "merge" },
  keyless: { strategy: "merge" },
});

const named = (...names: string[]): JsonValue => names.map((name) => ({ name }));

function check(original: JsonObject, patch: JsonObject): JsonObject {
  return applyStrategicMergePatch(original, patch, schema);
}

describe("a strategic merge patch that cannot be merged", () => {
  const refusals: readonly [JsonObject, JsonObject, number, string][] = [
    [
      { items: named("a") },
      { items: [{ v: 1 }] },
      422,
      "map: map[v:1] does not contain declared merge key: name",
    ],
    [
      { items: [{ v: [1, "x"] }] },
      { items: named("a") },
      422,
      "map: map[v:[1 x]] does not contain declared merge key: name",
    ],
    [
      { items: named("a") },
      { items: [{ $patch: "delete" }] },
      422,
      "map: map[$patch:delete] does not contain declared merge key: name",
    ],
    [{ keyless: [{}] }, { keyless: [{}] }, 422, "cannot merge lists without merge key for map"],
    [
      { map: {} },
      { map: { $patch: "merge" } },
      422,
      "unknown patch type: merge in map: map[$patch:merge]",
    ],
    [
      { items: named("a") },
      { items: [{ name: "a", $patch: "x" }] },
      422,
      "unknown patch type: x in map: map[$patch:x name:a]",
    ],
    [
      { items: named("a") },
      { items: [{ name: "a", $patch: "merge" }] },
      422,
      "merging lists cannot yet be specified in the patch",
    ],
    [
      { finalizers: ["a"] },
      { finalizers: [1] },
      422,
      "list element types are not identical: [[a] [1]]",
    ],
    [
      { finalizers: [["a"]] },
      { finalizers: [] },
      422,
      "the server rejected our request due to an error in our request",
    ],
    [
      { items: named("a") },
      { "$setElementOrder/items": named("b", "a"), items: named("a", "b") },
      422,
      "The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:b] map[name:a]]\n",
    ],
    [
      { items: 1 },
      { "$setElementOrder/items": [] },
      422,
      "expected a []interface {}, but received a int64",
    ],
    [
      {},
      { "$setElementOrder/items": "x" },
      422,
      "expected a []interface {}, but received a string",
    ],
    [{}, { $setElementOrderitems: [] }, 400, "invalid patch format of setElementOrder list"],
    [{}, { $deleteFromPrimitiveList: [] }, 400, "invalid patch format of primitive list"],
    [
      { finalizers: ["a"] },
      { "$deleteFromPrimitiveList/finalizers": "a" },
      400,
      "invalid patch format of primitive list",
    ],
    [{}, { $retainKeys: "a" }, 400, "invalid patch format of retainKeys"],
    [{}, { $retainKeys: ["a"], b: 1 }, 400, "invalid patch format of retainKeys"],
  ];
  for (const [original, patch, code, message] of refusals) {
    it(`refuses ${JSON.stringify(patch)} on ${JSON.stringify(original)}`, () => {
      assert.throws(
        () => check(original, patch),
        (error) => {
          const { status } = patchStatusError(error as PatchError);
          assert.deepEqual([status.code, status.message], [code, message]);
          return true;
        },
      );
    });
  }

  it("refuses a patch that is not an object", () => {
    assert.throws(() => applyStrategicMergePatch({}, [], schema), {
      code: "malformed",
      message: "invalid JSON document",
    });
  });

  it("cuts values in messages", () => {
    const big = { v: "x".repeat(10_000) };
    assert.throws(
      () => check({ items: named("a") }, { items: [big] }),
      (error) => {
        assert.match((error as Error).message, /^map: map\[v:x{506}… does not contain/);
        return true;
      },
    );
  });
});
