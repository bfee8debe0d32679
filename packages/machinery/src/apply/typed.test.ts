import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import {
  atomicType,
  booleanType,
  compareTyped,
  deducedType,
  keyedListType,
  listType,
  mapType,
  mergeTyped,
  numericType,
  ownedFields,
  scalarType,
  setType,
  stringType,
  structType,
  typeErrorsMax,
  typeErrorsOf,
} from "./index.ts";

const port = structType({
  port: numericType,
  protocol: { type: stringType, default: "TCP" },
  name: stringType,
});
const type = structType({
  text: stringType,
  number: numericType,
  flag: booleanType,
  any: scalarType,
  struct: structType({ a: stringType, b: stringType }),
  whole: atomicType(structType({ a: stringType, b: stringType })),
  map: mapType(stringType),
  atomic: listType(stringType),
  set: setType(stringType),
  list: keyedListType(["name"], structType({ name: stringType, value: stringType })),
  ports: keyedListType(["port", "protocol"], port),
  free: deducedType,
});

const named = (...names: string[]): JsonValue => names.map((name) => ({ name }));

describe("typeErrorsOf", () => {
  const rows: readonly [JsonObject, string | undefined][] = [
    [{ text: "a", number: 1, flag: true, any: 1, free: [{ x: null }] }, undefined],
    [{ text: null, number: null, struct: null, list: null, map: null }, undefined],
    [{ number: 9007199254740993n }, undefined],
    [{ unknown: 1 }, ".unknown: field not declared in schema"],
    [{ struct: { c: 1 } }, ".struct.c: field not declared in schema"],
    [{ whole: { c: 1 } }, ".whole.c: field not declared in schema"],
    [{ text: 1 }, ".text: expected string, got &value.valueUnstructured{Value:1}"],
    [{ number: "1" }, ".number: expected numeric (int or float), got string"],
    [{ flag: "x" }, '.flag: expected boolean, got &{"x"}'],
    [{ any: {} }, ".any: expected any scalar, got &{map[...]}"],
    [{ struct: "x" }, '.struct: expected map, got &{"x"}'],
    [{ list: {} }, ".list: expected list, got &{map[...]}"],
    [{ atomic: [1] }, ".atomic[0]: expected string, got &value.valueUnstructured{Value:1}"],
    [
      { list: [{ name: "x", value: 1 }] },
      '.list[name="x"].value: expected string, got &value.valueUnstructured{Value:1}',
    ],
    [{ list: [{ name: "x" }, { name: "x" }] }, '.list: duplicate entries for key [name="x"]'],
    [
      { ports: [{ port: 1 }, { port: 1, protocol: "TCP" }] },
      '.ports: duplicate entries for key [port=1,protocol="TCP"]',
    ],
    [{ set: ["a", "a"] }, '.set: duplicate entries for key [="a"]'],
    [
      { list: [{ value: "x" }] },
      '.list: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
    ],
    [{ list: [null] }, ".list: element 0: associative list with keys may not have a null element"],
    [{ list: ["x"] }, ".list: element 0: associative list with keys may not have non-map elements"],
    [
      { set: [null] },
      ".set: element 0: associative list without keys has an element that's an explicit null",
    ],
    [
      { set: [{}] },
      ".set: element 0: associative list without keys has an element that's a map type",
    ],
    [{ set: [[]] }, ".set: element 0: not supported: associative list with lists as elements"],
    [
      { x: 1, text: 1 },
      "errors:\n  .x: field not declared in schema\n  .text: expected string, got &value.valueUnstructured{Value:1}",
    ],
  ];
  for (const [value, errors] of rows) {
    it(`says ${JSON.stringify(errors)}`, () => assert.equal(typeErrorsOf(value, type), errors));
  }

  it("cuts long values", () => {
    const shown = (length: number) => typeErrorsOf({ flag: "x".repeat(length - 2) }, type);
    assert.equal(shown(200), `.flag: expected boolean, got &{"${"x".repeat(198)}"}`);
    assert.equal(shown(201), `.flag: expected boolean, got &{"${"x".repeat(199)}…}`);
  });

  it("stops after so many errors", () => {
    const unknown = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, 1]));
    const lines = (count: number) => typeErrorsOf(unknown(count), type)?.split("\n").length;
    assert.equal(lines(typeErrorsMax), typeErrorsMax + 1);
    assert.equal(lines(typeErrorsMax + 1), typeErrorsMax + 1);
  });
});

describe("ownedFields", () => {
  const rows: readonly [JsonObject, JsonObject][] = [
    [
      { text: "a", struct: { a: "1" } },
      { "f:text": {}, "f:struct": { "f:a": {} } },
    ],
    [
      { struct: {}, text: null },
      { "f:struct": {}, "f:text": {} },
    ],
    [{ map: { a: "1" } }, { "f:map": { "f:a": {} } }],
    [
      { whole: { a: "1" }, atomic: ["a"] },
      { "f:whole": {}, "f:atomic": {} },
    ],
    [{ set: ["b", "a"] }, { "f:set": { 'v:"b"': {}, 'v:"a"': {} } }],
    [{ set: [], list: [] }, {}],
    [
      { list: [{ name: "x", value: "1" }] },
      { "f:list": { 'k:{"name":"x"}': { ".": {}, "f:name": {}, "f:value": {} } } },
    ],
    [
      { ports: [{ port: 80 }] },
      { "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } } },
    ],
    [
      { ports: [{ protocol: null, port: 80 }] },
      {
        "f:ports": { 'k:{"port":80,"protocol":null}': { ".": {}, "f:port": {}, "f:protocol": {} } },
      },
    ],
    [{ list: [{ name: "x" }, { name: "x" }] }, { "f:list": { 'k:{"name":"x"}': {} } }],
    [
      { free: { a: { b: 1 }, c: [{ d: 1 }] } },
      { "f:free": { "f:a": { ".": {}, "f:b": {} }, "f:c": {} } },
    ],
  ];
  for (const [value, fields] of rows) {
    it(`of ${JSON.stringify(value)} are ${JSON.stringify(fields)}`, () =>
      assert.deepEqual(ownedFields(value, type), fields));
  }
});

describe("compareTyped", () => {
  const rows: readonly [
    string,
    JsonObject,
    JsonObject,
    Partial<Record<"added" | "modified" | "removed", JsonObject>>,
  ][] = [
    ["nothing", { text: "a", list: named("x") }, { text: "a", list: named("x") }, {}],
    ["order of items", { list: named("x", "y") }, { list: named("y", "x") }, {}],
    ["a leaf", { text: "a" }, { text: "b" }, { modified: { "f:text": {} } }],
    [
      "containers that come with what is in them",
      {},
      { struct: { a: "1" } },
      { added: { "f:struct": { ".": {}, "f:a": {} } } },
    ],
    [
      "an item that goes",
      { set: ["a", "b"] },
      { set: ["b"] },
      { removed: { "f:set": { 'v:"a"': {} } } },
    ],
    [
      "an item that changes",
      { list: [{ name: "x", value: "1" }] },
      { list: [{ name: "x", value: "2" }] },
      { modified: { "f:list": { 'k:{"name":"x"}': { "f:value": {} } } } },
    ],
    ["an atomic list", { atomic: ["a"] }, { atomic: ["a", "b"] }, { modified: { "f:atomic": {} } }],
    [
      "an atomic map",
      { whole: { a: "1" } },
      { whole: { a: "2" } },
      { modified: { "f:whole": {} } },
    ],
    ["null and empty", { map: null }, { map: {} }, { modified: { "f:map": {} } }],
    [
      "a shape",
      { free: { a: 1 } },
      { free: [1] },
      { modified: { "f:free": {} }, removed: { "f:free": { "f:a": {} } } },
    ],
    [
      "items that become several with one key",
      { list: [{ name: "x" }] },
      { list: [{ name: "x" }, { name: "x" }] },
      {
        added: { "f:list": { 'k:{"name":"x"}': {} } },
        removed: { "f:list": { 'k:{"name":"x"}': { ".": {}, "f:name": {} } } },
      },
    ],
    [
      "a list whose items cannot be told apart, as a whole",
      { list: [{ value: "1" }] },
      { list: [{ value: "2" }] },
      { modified: { "f:list": {} } },
    ],
    [
      "what the type does not know",
      { other: { a: 1 } },
      { other: { a: 2 } },
      { modified: { "f:other": { "f:a": {} } } },
    ],
  ];
  for (const [title, before, after, changes] of rows) {
    it(`finds ${title}`, () => {
      assert.deepEqual(compareTyped(before, after, type), {
        added: {},
        modified: {},
        removed: {},
        ...changes,
      });
      assert.deepEqual(compareTyped(after, before, type), {
        added: changes.removed ?? {},
        modified: changes.modified ?? {},
        removed: changes.added ?? {},
      });
    });
  }
});

describe("mergeTyped", () => {
  const rows: readonly [string, JsonObject, JsonObject, JsonObject][] = [
    ["leaves", { text: "a", flag: true }, { text: "b" }, { text: "b", flag: true }],
    [
      "structs and maps",
      { struct: { a: "1" }, map: { x: "1" } },
      { struct: { b: "2" }, map: { y: "2" } },
      { struct: { a: "1", b: "2" }, map: { x: "1", y: "2" } },
    ],
    [
      "atomic values as a whole",
      { whole: { a: "1" }, atomic: ["a"] },
      { whole: { b: "2" }, atomic: ["b"] },
      { whole: { b: "2" }, atomic: ["b"] },
    ],
    ["sets", { set: ["a", "b"] }, { set: ["c", "a"] }, { set: ["c", "a", "b"] }],
    [
      "items by key, in the order of the configuration",
      { list: [{ name: "a", value: "1" }, { name: "s" }, { name: "b" }] },
      { list: [{ name: "b" }, { name: "n" }, { name: "a", value: "2" }] },
      { list: [{ name: "s" }, { name: "b" }, { name: "n" }, { name: "a", value: "2" }] },
    ],
    [
      "items by the default of a key",
      { ports: [{ port: 1, protocol: "TCP" }] },
      { ports: [{ port: 1, name: "x" }] },
      { ports: [{ port: 1, protocol: "TCP", name: "x" }] },
    ],
    ["nothing for a null map", { map: { x: "1" } }, { map: null }, { map: { x: "1" } }],
    ["nulls where nothing is", { map: {} }, { map: null }, { map: null }],
    [
      "duplicates by replacing them",
      {
        list: [
          { name: "x", value: "1" },
          { name: "x", value: "2" },
        ],
      },
      { list: [{ name: "x", value: "3" }] },
      { list: [{ name: "x", value: "3" }] },
    ],
    [
      "duplicates that it does not mention by leaving them",
      { list: named("x", "x") },
      { list: named("y") },
      { list: named("x", "x", "y") },
    ],
  ];
  for (const [title, live, config, merged] of rows) {
    it(`merges ${title}`, () => assert.deepEqual(mergeTyped(live, config, type), merged));
  }

  it("returns the live value itself where nothing changes", () => {
    const live: JsonObject = {
      text: "a",
      list: [{ name: "a", value: "1" }, { name: "b" }],
      map: { x: "1" },
      atomic: ["a"],
    };
    assert.equal(mergeTyped(live, { list: named("a"), map: {}, atomic: ["a"] }, type), live);
  });

  it("sets __proto__ as a plain member", () => {
    const config = JSON.parse('{"map":{"__proto__":"x"}}') as JsonObject;
    const merged = mergeTyped({ map: { a: "1" } }, config, type);
    assert.deepEqual(Object.keys(merged["map"] as object), ["a", "__proto__"]);
    assert.equal(Object.getPrototypeOf(merged["map"]), Object.prototype);
  });
});
