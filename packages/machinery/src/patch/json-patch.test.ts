import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cloneJson, isJsonObject, type JsonValue, jsonEqual, parseJson } from "../json/index.ts";
import {
  applyJsonPatch,
  applyJsonPatchResumable,
  formatPointer,
  type JsonPatchOperation,
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

it("a resumable patch yields after each operation and has the same result", () => {
  const patch = readJsonPatch({
    value: [
      { op: "add", path: "/b", value: 1 },
      { op: "copy", from: "/b", path: "/c" },
    ],
    duplicates: [],
  });
  const work = applyJsonPatchResumable({ a: 0 }, patch);
  const steps = [work.next(), work.next(), work.next()];
  assert.deepEqual(
    steps.map(({ done }) => done),
    [false, false, true],
  );
  assert.deepEqual(steps.at(-1)?.value, applyJsonPatch({ a: 0 }, patch));
});

function refusal(document: JsonValue, operations: JsonValue): PatchError {
  try {
    check(document, operations);
  } catch (error) {
    if (error instanceof PatchError) return error;
    throw error;
  }
  throw new Error("the patch applies");
}

describe("applyJsonPatch", () => {
  const rows: readonly [title: string, document: JsonValue, operations: JsonValue, JsonValue][] = [
    ["adds a member", { a: 1 }, [{ op: "add", path: "/b", value: [2] }], { a: 1, b: [2] }],
    ["adds over a member", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    [
      "inserts into an array",
      { a: [1, 3] },
      [{ op: "add", path: "/a/1", value: 2 }],
      { a: [1, 2, 3] },
    ],
    ["appends with -", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    ["appends at the length", [1], [{ op: "add", path: "/1", value: 2 }], [1, 2]],
    ["removes a member", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
    ["removes an item", [1, 2, 3], [{ op: "remove", path: "/1" }], [1, 3]],
    ["counts negative indices from the end", [1, 2], [{ op: "remove", path: "/-1" }], [1]],
    ["replaces an item", [1, 2], [{ op: "replace", path: "/1", value: 3 }], [1, 3]],
    [
      "adds a member that replace does not find",
      { a: {} },
      [{ op: "replace", path: "/a/b", value: 3 }],
      { a: { b: 3 } },
    ],
    [
      "replaces the whole document",
      { a: 1 },
      [{ op: "replace", path: "", value: { b: 1 } }],
      { b: 1 },
    ],
    [
      "moves",
      { a: { b: 1 }, c: [] },
      [{ op: "move", from: "/a/b", path: "/c/0" }],
      { a: {}, c: [1] },
    ],
    [
      "copies",
      { a: { b: 1 } },
      [{ op: "copy", from: "/a", path: "/c" }],
      { a: { b: 1 }, c: { b: 1 } },
    ],
    ["copies an absent member as null", {}, [{ op: "copy", from: "/a", path: "/c" }], { c: null }],
    [
      "tests",
      { a: [{ b: 1 }] },
      [{ op: "test", path: "/a/0", value: { b: 1 } }],
      { a: [{ b: 1 }] },
    ],
    ["tests the whole document", { a: 1 }, [{ op: "test", path: "", value: { a: 1 } }], { a: 1 }],
    ["tests absence with null", { a: 1 }, [{ op: "test", path: "/b", value: null }], { a: 1 }],
    [
      "decodes ~1 and ~0",
      {},
      [{ op: "add", path: "/kcp.io~1cluster~01", value: "x" }],
      { "kcp.io/cluster~1": "x" },
    ],
    ["treats null as an empty patch", { a: 1 }, null, { a: 1 }],
    [
      "runs operations in order",
      {},
      [
        { op: "add", path: "/a", value: {} },
        { op: "add", path: "/a/b", value: 1 },
      ],
      { a: { b: 1 } },
    ],
  ];
  for (const [title, document, operations, expected] of rows) {
    it(title, () => assert.deepEqual(check(document, operations), expected));
  }

  const refusals: readonly [JsonValue, { [key: string]: JsonValue } | null, string][] = [
    [
      { metadata: {} },
      { op: "add", path: "/metadata/labels/x", value: "y" },
      'add operation does not apply: doc is missing path: "/metadata/labels/x": missing value',
    ],
    [
      { a: 1 },
      { op: "add", path: "/a/b", value: 1 },
      'add operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    [
      {},
      { op: "add", path: "", value: 1 },
      'add operation does not apply: doc is missing path: "": missing value',
    ],
    [{}, { op: "add", value: 1 }, "add operation failed to decode path: missing value"],
    [
      [1],
      { op: "add", path: "/2", value: 1 },
      "error in add for path: '/2': Unable to access invalid index: 2: invalid index referenced",
    ],
    [
      [1],
      { op: "add", path: "/-3", value: 1 },
      "error in add for path: '/-3': Unable to access invalid index: -3: invalid index referenced",
    ],
    [
      [1],
      { op: "add", path: "/x", value: 1 },
      `error in add for path: '/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [
      { a: {} },
      { op: "remove", path: "/a/b" },
      "error in remove for path: '/a/b': Unable to remove nonexistent key: b: missing value",
    ],
    [
      {},
      { op: "remove", path: "/a/b" },
      'remove operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    [
      [],
      { op: "remove", path: "/0" },
      "error in remove for path: '/0': Unable to access invalid index: 0: invalid index referenced",
    ],
    [
      {},
      { op: "replace", path: "/a/b", value: 1 },
      "replace operation does not apply: doc is missing path: /a/b: missing value",
    ],
    [
      [1],
      { op: "replace", path: "/1", value: 1 },
      "replace operation does not apply: doc is missing key: /1: missing value",
    ],
    [{}, { op: "replace", path: "", value: 1 }, "replace operation value must be object or array"],
    [
      {},
      { op: "replace", value: 1 },
      "replace operation failed to decode path: operation missing path field: missing value",
    ],
    [
      {},
      { op: "move", path: "/a" },
      "move operation failed to decode from: operation, missing from field: missing value",
    ],
    [
      {},
      { op: "move", from: "/a/b", path: "/c" },
      "move operation does not apply: doc is missing from path: /a/b: missing value",
    ],
    [
      {},
      { op: "move", from: "/a", path: "/c" },
      "error in move for path: 'a': Unable to remove nonexistent key: a: missing value",
    ],
    [
      { a: { b: {} } },
      { op: "move", from: "/a", path: "/a/b" },
      "move operation does not apply: doc is missing destination path: /a/b: missing value",
    ],
    [
      {},
      { op: "copy", from: "/a/b", path: "/c" },
      "copy operation does not apply: doc is missing from path: /a/b: missing value",
    ],
    [{ a: 1 }, { op: "test", path: "/a", value: 2 }, "testing value /a failed: test failed"],
    [{ a: 1 }, { op: "test", path: "/a" }, "testing value /a failed: test failed"],
    [
      {},
      { op: "test", path: "/a/b", value: 2 },
      "test operation does not apply: is missing path: /a/b: missing value",
    ],
    [{}, { op: "merge", path: "/a" }, "Unexpected kind: merge"],
    [{}, null, "Unexpected kind: unknown"],
  ];
  for (const [document, operation, message] of refusals) {
    it(`refuses ${JSON.stringify(operation)} on ${JSON.stringify(document)}`, () => {
      const error = refusal(document, [operation]);
      assert.deepEqual([error.code, error.message], ["not-applicable", message]);
    });
  }

  it("sets members named like the prototype as plain members", () => {
    const patched = check({}, [
      { op: "add", path: "/__proto__", value: { polluted: true } },
      { op: "add", path: "/constructor", value: 1 },
    ]);
    assert.deepEqual(Object.keys(patched as object), ["__proto__", "constructor"]);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    assert.equal(refusal({}, [{ op: "remove", path: "/__proto__" }]).code, "not-applicable");
  });
});

describe("readJsonPatch", () => {
  const malformed: readonly [JsonValue, string][] = [
    [
      {},
      "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    ],
    [
      [1],
      "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
    ],
    [
      [{ op: "add", path: 1 }],
      "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
    ],
    [
      [{ op: {}, path: "" }],
      "error decoding patch: json: cannot unmarshal object into Go struct field jsonPatchOp.op of type string",
    ],
  ];
  for (const [value, message] of malformed) {
    it(`refuses ${JSON.stringify(value)} as malformed`, () => {
      assert.throws(
        () => readJsonPatch({ value, duplicates: [] }),
        (error) => {
          assert.ok(error instanceof PatchError);
          const { status } = patchStatusError(error);
          assert.deepEqual(
            [status.code, status.reason, status.message],
            [400, "BadRequest", message],
          );
          return true;
        },
      );
    });
  }

  it("reports unknown and duplicate members of operations for strict field validation", () => {
    const text =
      '[{"op":"add","path":"/a","value":{"x":1},"foo":1},{"op":"add","path":"/a","path":"/b","value":1}]';
    assert.deepEqual(readJsonPatch(parseJson(text)).strictErrors, [
      'json patch unknown field "[0].foo"',
      'json patch duplicate field "[1].path"',
    ]);
  });
});

describe("patchStatusError", () => {
  it("answers a patch that does not apply with 422 and the fixed text of Kubernetes", () => {
    const error = refusal({}, [{ op: "remove", path: "/a" }]);
    const { status } = patchStatusError(error);
    assert.deepEqual(status, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      code: 422,
      reason: "Invalid",
      message: "the server rejected our request due to an error in our request",
      details: {},
    });
  });
});

/** A patch that turns `from` into `to`, written with every kind of operation but copy and move. */
function diff(
  from: JsonValue,
  to: JsonValue,
  path: (string | number)[] = [],
): JsonPatchOperation[] {
  if (jsonEqual(from, to)) return [{ op: "test", path: formatPointer(path), value: to }];
  if (isJsonObject(from) && isJsonObject(to)) {
    const operations: JsonPatchOperation[] = [];
    for (const key of Object.keys(from)) {
      const at = [...path, key];
      operations.push(
        ...(Object.hasOwn(to, key)
          ? diff(from[key] as JsonValue, to[key] as JsonValue, at)
          : [{ op: "remove", path: formatPointer(at) }]),
      );
    }
    for (const key of Object.keys(to)) {
      if (!Object.hasOwn(from, key))
        operations.push({
          op: "add",
          path: formatPointer([...path, key]),
          value: to[key] as JsonValue,
        });
    }
    return operations;
  }
  if (Array.isArray(from) && Array.isArray(to)) {
    const shared = Math.min(from.length, to.length);
    const operations = to.slice(0, shared).flatMap((item, i) => diff(from[i], item, [...path, i]));
    for (let i = from.length; i > shared; i--)
      operations.push({ op: "remove", path: formatPointer([...path, i - 1]) });
    for (let i = shared; i < to.length; i++)
      operations.push({
        op: "add",
        path: formatPointer([...path, i % 2 === 0 ? i : "-"]),
        value: to[i],
      });
    return operations;
  }
  return [{ op: "replace", path: formatPointer(path), value: to }];
}

describe("a JSON patch made from two documents", () => {
  const object = fc.object({
    key: fc.constantFrom("a", "b", "~", "/", "__proto__", "", "0"),
    values: [fc.integer(), fc.string(), fc.boolean(), fc.constant(null)],
    maxDepth: 4,
  }) as fc.Arbitrary<{ [key: string]: JsonValue }>;

  it("turns the first into the second", () => {
    fc.assert(
      fc.property(object, object, (from, to) => {
        const value = diff(from, to) as unknown as JsonValue;
        assert.ok(jsonEqual(check(from, value), to));
      }),
    );
  });
});
