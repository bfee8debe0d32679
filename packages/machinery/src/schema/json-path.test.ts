import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WorkBudget, workBounds } from "../bounds/index.ts";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { validatePrinterColumn } from "./crd-version.ts";
import { humanDuration } from "./human-duration.ts";
import {
  compilePrinterColumns,
  evaluateJsonPath,
  jsonPathLengthMax,
  type PrinterColumn,
  parseJsonPath,
  selectableFieldValue,
} from "./index.ts";

const object: JsonObject = {
  metadata: { name: "n", labels: { "a.b": "dotted" }, creationTimestamp: "2026-11-15T10:00:00Z" },
  spec: { replicas: 3, ratio: 0.00001, list: ["a", "b", "c"], on: true, nothing: null },
  status: {
    conditions: [
      { type: "Ready", status: "True", weight: 5 },
      { type: "Synced", status: "False", weight: 2 },
    ],
  },
};

const find = (path: string): JsonValue[] => evaluateJsonPath(parseJsonPath(path), object);

describe("JSONPath", () => {
  const cases: readonly (readonly [string, readonly JsonValue[]])[] = [
    [".spec.replicas", [3]],
    [".spec.missing.deeper", []],
    ["$.spec.replicas", [3]],
    [".metadata.labels.a\\.b", ["dotted"]],
    [".metadata.labels['a\\.b']", ["dotted"]],
    [".metadata['name']", ["n"]],
    [".spec.list[0]", ["a"]],
    [".spec.list[-1]", ["c"]],
    [".spec.list[0:2]", ["a", "b"]],
    [".spec.list[::2]", ["a", "c"]],
    [".spec.list[*]", ["a", "b", "c"]],
    [".spec.list[0,2]", ["a", "c"]],
    [".status.conditions[*].type", ["Ready", "Synced"]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type=='Synced')].status", ["False"]],
    ['.status.conditions[?(@.type!="Ready")].status', ["False"]],
    [".status.conditions[?(@.weight>3)].type", ["Ready"]],
    [".status.conditions[?(@.weight<=2)].type", ["Synced"]],
    [".status.conditions[?(@.weight)].type", ["Ready", "Synced"]],
    [".status.conditions[?(@.missing==1)].type", []],
    ["..type", ["Ready", "Synced"]],
    [".constructor", []],
    [".metadata.*", ["n", { "a.b": "dotted" }, "2026-11-15T10:00:00Z"]],
  ];
  for (const [path, expected] of cases) {
    it(`${path} finds ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(find(path), expected);
    });
  }

  const broken: readonly (readonly [string, string])[] = [
    [".a[", "unterminated array"],
    [".a[x]", "invalid array index x"],
    ['.a[?(@.b=="c)]', "unterminated filter"],
    [".a[?(@.b)", "unclosed array expect ]"],
    ['.a[?(@.b=="c").d', "unclosed array expect ]"],
    [".a\n", "unclosed action"],
    ["!a", "unrecognized character in action: U+0021 '!'"],
    ["....a", "invalid multiple recursive descent"],
    [".a[?(@.b==c)]", "unrecognized identifier c"],
    [`.${"a".repeat(jsonPathLengthMax)}`, `path is longer than ${jsonPathLengthMax} characters`],
  ];
  for (const [path, message] of broken) {
    it(`refuses ${JSON.stringify(path.slice(0, 30))}`, () => {
      assert.throws(() => parseJsonPath(path), { name: "JsonPathError", message });
    });
  }

  it("takes a path of the greatest length", () => {
    assert.deepEqual(find(`.${"a".repeat(jsonPathLengthMax - 1)}`), []);
  });

  it("says what does not fit the object", () => {
    const fails = (path: string, message: string): void => {
      assert.throws(() => find(path), { name: "JsonPathError", message });
    };
    fails(".spec[0]", "map[string]interface {} is not array or slice");
    fails(".spec.list[5]", "array index out of bounds: index 5, length 3");
    fails(".spec.list[2:1]", "starting index 2 is greater than ending index 1");
    fails(
      '.spec[?(@.a=="b")]',
      "map[string]interface {} is not array or slice and cannot be filtered",
    );
    fails('.status.conditions[?(@.weight=="x")]', "incompatible types for comparison");
  });

  describe("a path is charged for what it produces, so that it ends at the bound:", () => {
    const list = Array.from({ length: 1000 }, (_, i) => ({ a: [i, i], b: "x" }));
    const hostile: Readonly<Record<string, string>> = {
      "a union of slices": `.l[${Array.from({ length: 500 }, () => ":").join()}]`,
      "a chain of unions": `.n${"[:1,:1,:1,:1]".repeat(8)}`,
      "a union of wildcards": `.l[${Array.from({ length: 400 }, () => "*").join()}]`,
      "a union of fields": `.l[*][${Array.from({ length: 200 }, () => "'a'").join()}]`,
      "a chain of wildcards": ".m.*.l.*.a.*",
      "descents below descents": "..l..a..a",
      "a filter for each of a union": `.l[${Array.from({ length: 99 }, () => ":").join()}][?(@.a)]`,
      "filters that walk all there is": `.m[*].l${"[?(@..b)]".repeat(20)}`,
      "a slice with very small steps": `.l[${Array.from({ length: 200 }, () => "::1").join()}]`,
    };
    const nested: JsonValue = [[[[[[[[1, 1], 1], 1], 1], 1], 1], 1], 1];
    const object = {
      l: list,
      n: Array.from({ length: 8 }, () => nested),
      m: Array.from({ length: 100 }, () => ({ l: list })),
    };
    for (const [title, path] of Object.entries(hostile))
      it(title, () => {
        const budget = new WorkBudget(workBounds.path);
        assert.throws(() => evaluateJsonPath(parseJsonPath(path), object, budget), {
          message: "JSONPath: limit is 50000 units of work",
        });
        // A step that went too far was one over, and not many times over: nothing of what is beyond
        // was gathered.
        assert.ok(budget.left > -60_000, String(budget.left));
      });
  });

  it("within the bound are the paths of real definitions over large objects", () => {
    const conditions = Array.from({ length: 5000 }, (_, i) => ({ type: `t${i}`, status: "True" }));
    const path = parseJsonPath('.status.conditions[?(@.type=="t4999")].status');
    assert.deepEqual(evaluateJsonPath(path, { status: { conditions } }), ["True"]);
  });
});

describe("printer columns", () => {
  const now = Date.parse("2026-11-15T10:05:30Z");
  const column = (type: string, jsonPath: string): PrinterColumn => ({
    name: "C",
    type,
    format: "",
    description: "",
    priority: 0,
    jsonPath,
  });
  const cases: readonly (readonly [string, string, string | number | bigint | boolean | null])[] = [
    ["string", ".metadata.name", "n"],
    ["string", ".spec.replicas", "3"],
    ["string", ".spec.ratio", "1e-05"],
    ["string", ".spec.on", "true"],
    ["string", ".spec.list", '["a","b","c"]'],
    ["string", ".spec.list[*]", "a"],
    ["string", ".metadata.labels", '{"a.b":"dotted"}'],
    ["string", ".spec.nothing", "<no value>"],
    ["string", ".spec.missing", null],
    ["string", ".spec.list[9]", null],
    ["integer", ".spec.replicas", 3],
    ["integer", ".metadata.name", null],
    ["integer", ".spec.nothing", null],
    ["number", ".spec.ratio", 0.00001],
    ["number", ".spec.on", null],
    ["boolean", ".spec.on", true],
    ["boolean", ".spec.replicas", null],
    ["date", ".metadata.creationTimestamp", "5m30s"],
    ["date", ".metadata.name", "<invalid>"],
    ["date", ".spec.replicas", null],
  ];
  for (const [type, path, expected] of cases) {
    it(`a ${type} column of ${path} shows ${JSON.stringify(String(expected))}`, () => {
      const columns = compilePrinterColumns([column(type, path)]);
      assert.deepEqual(columns.cells(object, now), [expected]);
    });
  }

  it("a column that runs out shows nothing, and the row goes on being a row", () => {
    const union = `.spec.any[${Array.from({ length: 500 }, () => ":").join()}]`;
    const columns = compilePrinterColumns([
      column("string", ".metadata.name"),
      column("string", union),
      column("string", ".metadata.name"),
    ]);
    const large = { metadata: { name: "n" }, spec: { any: Array(79_000).fill(0) } };
    const budget = new WorkBudget(workBounds.tableRow);
    assert.deepEqual(columns.cells(large, now, budget), ["n", null, null]);
    assert.ok(budget.left > -100_000, "what was too much was not gathered");
  });

  it("many columns that show one large value do not multiply it", () => {
    const value = { a: "x".repeat(1 << 18) };
    const columns = compilePrinterColumns(
      Array.from({ length: 100 }, () => column("string", ".spec")),
    );
    const shown = columns.cells({ metadata: { name: "n" }, spec: value }, now);
    assert.equal(shown.filter((cell) => cell !== null).length, 3);
  });

  it("a path that is longer than any is refused with its definition", () => {
    const long = column("string", `.${"a".repeat(1024)}`);
    assert.deepEqual(
      validatePrinterColumn(long, "c").map(({ field, body }) => [field, body]),
      [["c.JSONPath", "Too long: may not be more than 1024 bytes"]],
    );
    assert.deepEqual(validatePrinterColumn(column("string", `.${"a".repeat(1023)}`), "c"), []);
  });

  it("there is Age when nothing else is declared", () => {
    const columns = compilePrinterColumns([]);
    assert.deepEqual(
      columns.definitions.map(({ name, type }) => [name, type]),
      [["Age", "date"]],
    );
    assert.deepEqual(columns.cells(object, now), ["5m30s"]);
  });

  it("a column without description describes its path", () => {
    assert.equal(
      compilePrinterColumns([column("string", ".a")]).definitions[0]?.description,
      "Custom resource definition column (in JSONPath format): .a",
    );
  });

  it("a column whose path cannot be parsed is left out, and so are the columns after it", () => {
    const shown = compilePrinterColumns([
      { ...column("boolean", ".spec.on"), name: "On" },
      { ...column("string", ".spec[?(@.a[?(@.b)])]"), name: "Nested" },
      { ...column("boolean", ".spec.on"), name: "After" },
    ]);
    assert.deepEqual(
      shown.definitions.map(({ name }) => name),
      ["On"],
    );
    assert.equal(shown.cells(object, now).length, 1);
    assert.deepEqual(compilePrinterColumns([column("string", ".a[")]).definitions, []);
  });

  it("selectable fields are compared as text", () => {
    const value = (path: string): string => selectableFieldValue(parseJsonPath(path), object);
    assert.deepEqual(
      [
        value(".spec.on"),
        value(".spec.replicas"),
        value(".metadata.name"),
        value(".spec.no"),
        value(".spec.nothing"),
      ],
      ["true", "3", "n", "", ""],
    );
  });
});

describe("humanDuration", () => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  for (const [milliseconds, expected] of [
    [-3 * second, "<invalid>"],
    [-1.5 * second, "0s"],
    [0, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [9 * minute + 59 * second, "9m59s"],
    [10 * minute + second, "10m"],
    [179 * minute, "179m"],
    [3 * hour + minute, "3h1m"],
    [8 * hour + minute, "8h"],
    [47 * hour, "47h"],
    [48 * hour, "2d"],
    [7 * day + 5 * hour, "7d5h"],
    [8 * day + 5 * hour, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [731 * day, "2y1d"],
    [8 * 365 * day + day, "8y"],
  ] as const) {
    it(`${milliseconds} ms is ${expected}`, () => {
      assert.equal(humanDuration(milliseconds), expected);
    });
  }
});
