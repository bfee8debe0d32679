import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cloneJson, type JsonObject, type JsonValue, jsonEqual } from "../json/index.ts";
import { applyStrategicMergePatch, patchSchema } from "./index.ts";

const item = patchSchema({
  values: { strategy: "merge" },
  plain: {},
  nested: {
    strategy: "merge",
    mergeKey: "name",
    schema: patchSchema({ ports: { strategy: "merge", mergeKey: "port" } }),
  },
});
const schema = patchSchema({
  items: { strategy: "merge", mergeKey: "name", schema: item },
  finalizers: { strategy: "merge" },
  atomic: {},
  map: { schema: patchSchema({ inner: { schema: item } }) },
  whole: { strategy: "replace" },
  volume: { retainKeys: true },
  keyless: { strategy: "merge" },
});

function check(original: JsonObject, patch: JsonObject): JsonObject {
  const before = cloneJson([original, patch]);
  const patched = applyStrategicMergePatch(original, patch, schema);
  assert.deepEqual([original, patch], before, "the inputs are left alone");
  return patched;
}

const named = (...names: string[]): JsonValue => names.map((name) => ({ name }));

describe("applyStrategicMergePatch", () => {
  const rows: readonly [title: string, original: JsonObject, patch: JsonObject, JsonObject][] = [
    [
      "merges maps",
      { map: { a: 1, b: 2 } },
      { map: { b: 3, c: 4 } },
      { map: { a: 1, b: 3, c: 4 } },
    ],
    ["deletes members with null", { a: 1, b: 2 }, { a: null, z: null }, { b: 2 }],
    [
      "drops nulls of values it adds",
      {},
      { map: { a: null, b: [{ c: null }] } },
      { map: { b: [{}] } },
    ],
    ["replaces scalars and changed types", { a: 1, b: {} }, { a: "x", b: [1] }, { a: "x", b: [1] }],
    ["replaces lists without a strategy", { atomic: [1, 2] }, { atomic: [3] }, { atomic: [3] }],
    [
      "replaces lists that the schema does not know",
      { x: named("a") },
      { x: named("b") },
      { x: named("b") },
    ],
    [
      "merges maps that the schema does not know",
      { x: { y: { a: 1 } } },
      { x: { y: { b: 1 } } },
      { x: { y: { a: 1, b: 1 } } },
    ],
    [
      "replaces maps whose strategy says so",
      { whole: { a: 1 } },
      { whole: { b: 1 } },
      { whole: { b: 1 } },
    ],
    [
      "merges list items by key",
      {
        items: [
          { name: "a", v: 1, w: 1 },
          { name: "b", v: 1 },
        ],
      },
      {
        items: [
          { name: "a", v: 2, w: null },
          { name: "c", v: 3, w: null },
        ],
      },
      {
        items: [
          { name: "a", v: 2 },
          { name: "c", v: 3 },
          { name: "b", v: 1 },
        ],
      },
    ],
    [
      "merges lists inside list items",
      { items: [{ name: "a", nested: [{ name: "x", ports: [{ port: 1, p: 1 }] }] }] },
      {
        items: [
          {
            name: "a",
            nested: [{ name: "x", ports: [{ port: 1, q: 1 }, { port: 2 }] }, { name: "y" }],
          },
        ],
      },
      {
        items: [
          {
            name: "a",
            nested: [{ name: "x", ports: [{ port: 1, p: 1, q: 1 }, { port: 2 }] }, { name: "y" }],
          },
        ],
      },
    ],
    [
      "merges scalars as a set",
      { finalizers: ["a", "b"] },
      { finalizers: ["b", "c"] },
      { finalizers: ["a", "b", "c"] },
    ],
    [
      "adds a list",
      {},
      { items: [{ name: "a" }, { name: "b", $patch: "delete" }] },
      { items: named("a") },
    ],
    ["keeps an empty list", { items: [] }, { items: [] }, { items: [] }],
    [
      "gives the patch to the first of several items with one key",
      {
        items: [
          { name: "a", v: 1 },
          { name: "a", v: 2 },
        ],
      },
      { items: [{ name: "a", v: 3 }] },
      {
        items: [
          { name: "a", v: 3 },
          { name: "a", v: 2 },
        ],
      },
    ],
    [
      "tells the number 1 from the text 1",
      { items: [{ name: 1, v: 1 }] },
      { items: [{ name: "1", v: 2 }] },
      {
        items: [
          { name: "1", v: 2 },
          { name: 1, v: 1 },
        ],
      },
    ],

    [
      "replaces a map with $patch: replace",
      { map: { a: 1 } },
      { map: { $patch: "replace", b: 1, c: null } },
      { map: { b: 1 } },
    ],
    [
      "empties a map with $patch: delete",
      { map: { a: 1 } },
      { map: { $patch: "delete" } },
      { map: {} },
    ],
    ["replaces the whole object", { a: 1 }, { $patch: "replace", b: 1 }, { b: 1 }],
    [
      "ignores $patch where there is nothing",
      {},
      { map: { $patch: "delete" }, x: { y: { $patch: "replace" } } },
      { x: {} },
    ],
    [
      "deletes an item",
      { items: named("a", "b") },
      { items: [{ name: "a", $patch: "delete" }] },
      { items: named("b") },
    ],
    [
      "deletes every item with the key",
      { items: named("a", "b", "a") },
      { items: [{ name: "a", $patch: "delete" }] },
      { items: named("b") },
    ],
    [
      "replaces a list",
      { items: named("a", "b") },
      { items: [{ $patch: "replace" }, { name: "c", v: null }] },
      { items: named("c") },
    ],
    [
      "replaces an item",
      { items: [{ name: "a", v: { x: 1 } }] },
      { items: [{ name: "a", v: { $patch: "replace", y: 1 } }] },
      { items: [{ name: "a", v: { y: 1 } }] },
    ],

    [
      "deletes scalars",
      { finalizers: ["a", "b", "c"] },
      { "$deleteFromPrimitiveList/finalizers": ["a", "z"], finalizers: ["d"] },
      { finalizers: ["d", "b", "c"] },
    ],
    ["deletes scalars of no list", {}, { "$deleteFromPrimitiveList/finalizers": ["a"] }, {}],

    [
      "orders items as told and server-only items among them",
      { items: named("a", "x", "b", "c", "y") },
      { "$setElementOrder/items": named("c", "b", "a", "d"), items: named("b", "d") },
      { items: named("x", "c", "b", "a", "d", "y") },
    ],
    [
      "orders a list that the patch does not change",
      { items: named("a", "b") },
      { "$setElementOrder/items": named("b", "a") },
      { items: named("b", "a") },
    ],
    [
      "orders scalars, then deletes",
      { finalizers: ["a", "b", "c"] },
      {
        "$setElementOrder/finalizers": ["d", "c", "b"],
        finalizers: ["d"],
        "$deleteFromPrimitiveList/finalizers": ["a"],
      },
      {
        finalizers: ["d", "c", "b"].sort((x, y) => "dbc".indexOf(x) - "dbc".indexOf(y)) && [
          "d",
          "c",
          "b",
        ],
      },
    ],
    [
      "orders an added list",
      {},
      { "$setElementOrder/items": named("b", "a"), items: named("b", "a") },
      { items: named("b", "a") },
    ],
    [
      "ignores an order without a list",
      { a: 1 },
      { "$setElementOrder/items": named("b") },
      { a: 1 },
    ],
    [
      "deletes an item that the order does not name",
      { items: named("a", "b") },
      { "$setElementOrder/items": named("b"), items: [{ name: "a", $patch: "delete" }] },
      { items: named("b") },
    ],
    [
      "lets an added item follow the server's own when another is deleted",
      { items: named("a", "b", "x") },
      {
        "$setElementOrder/items": named("b", "c"),
        items: [{ name: "c" }, { name: "a", $patch: "delete" }],
      },
      { items: named("b", "x", "c") },
    ],
    [
      "keeps directives out of added items",
      { items: [] },
      {
        items: [
          {
            name: "a",
            "$setElementOrder/nested": named("x"),
            nested: named("x"),
            $retainKeys: ["name"],
          },
        ],
      },
      { items: [{ name: "a", nested: named("x") }] },
    ],

    [
      "retains the named keys only",
      { volume: { name: "v", emptyDir: {}, other: 1 } },
      {
        volume: {
          $retainKeys: ["name", "hostPath"],
          name: "v",
          hostPath: { path: "/" },
          emptyDir: null,
        },
      },
      { volume: { name: "v", hostPath: { path: "/" } } },
    ],
  ];
  for (const [title, original, patch, expected] of rows) {
    it(title, () => assert.deepEqual(check(original, patch), expected));
  }

  it("sets __proto__ as a plain member", () => {
    const patch = JSON.parse(
      '{"__proto__":{"polluted":1},"map":{"__proto__":{"x":1}}}',
    ) as JsonObject;
    const patched = check({ map: {} }, patch);
    assert.deepEqual(Object.keys(patched), ["map", "__proto__"]);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });
});

describe("merging a list by key", () => {
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f", "g"));
  const items = names.map((list) => list.map((name) => ({ name })));
  const order = (list: JsonValue, keep: ReadonlySet<string>) =>
    (list as { name: string }[]).map(({ name }) => name).filter((name) => keep.has(name));

  it("keeps the order of the patch and the order of the server-only items", () => {
    fc.assert(
      fc.property(items, items, (live, patch) => {
        const merged = check({ items: live }, { items: patch })["items"] as JsonValue;
        const inPatch = new Set(patch.map(({ name }) => name));
        const serverOnly = new Set(
          live.map(({ name }) => name).filter((name) => !inPatch.has(name)),
        );
        assert.deepEqual(order(merged, inPatch), [...inPatch]);
        assert.deepEqual(order(merged, serverOnly), [...serverOnly]);
        assert.equal((merged as JsonValue[]).length, inPatch.size + serverOnly.size);
      }),
    );
  });

  it("gives the same again when the patch is applied again", () => {
    fc.assert(
      fc.property(items, items, (live, patch) => {
        const once = check({ items: live }, { items: patch });
        assert.ok(jsonEqual(check(once, { items: patch }), once));
      }),
    );
  });
});
