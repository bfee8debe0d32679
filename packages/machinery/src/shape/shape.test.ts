import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { runSync } from "../base/index.ts";
import type { JsonValue } from "../json/index.ts";
import {
  configMap,
  decodeShape,
  decodeShapeResumable,
  namespace,
  objectMeta,
  ShapeError,
  secret,
} from "./index.ts";
import { int32, int64, message } from "./shape.ts";

describe("decodeShape", () => {
  it("names unknown fields by path and leaves them out", () => {
    const { value, unknownFields } = decodeShape(namespace, {
      kind: "Namespace",
      apiVersion: "v1",
      metadata: { name: "x", foo: 1, ownerReferences: [{ uid: "u", bar: 2 }] },
      spec: { finalizers: ["a"], more: {} },
      other: [],
    });
    assert.deepEqual(unknownFields, [
      "metadata.foo",
      "metadata.ownerReferences[0].bar",
      "spec.more",
      "other",
    ]);
    assert.deepEqual(value, {
      kind: "Namespace",
      apiVersion: "v1",
      metadata: { name: "x", ownerReferences: [{ uid: "u" }] },
      spec: { finalizers: ["a"] },
    });
  });

  it("names are case-sensitive, and names of Object's own are unknown fields", () => {
    const odd = JSON.parse('{"Data":{},"__proto__":{"x":1},"constructor":{},"toString":1}');
    const { value, unknownFields } = decodeShape(configMap, odd as JsonValue);
    assert.deepEqual(unknownFields, ["Data", "__proto__", "constructor", "toString"]);
    assert.deepEqual(value, {});
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  });

  it("null is absent, in maps and lists the zero value", () => {
    const { value } = decodeShape(configMap, {
      metadata: { name: null, finalizers: [null, "a"], labels: { a: null } },
      data: { k: null },
      immutable: null,
    });
    assert.deepEqual(value, {
      metadata: { finalizers: ["", "a"], labels: { a: "" } },
      data: { k: "" },
    });
  });

  const mismatches: [value: JsonValue, text: string][] = [
    [{ data: { k: 1 } }, "number into Go struct field ConfigMap.data of type string"],
    [{ data: { k: true } }, "bool into Go struct field ConfigMap.data of type string"],
    [{ data: [] }, "array into Go struct field ConfigMap.data of type map[string]string"],
    [{ binaryData: { k: 1 } }, "number into Go struct field ConfigMap.binaryData of type []uint8"],
    [{ immutable: "yes" }, "string into Go struct field ConfigMap.immutable of type bool"],
    [{ metadata: "x" }, "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"],
    [
      { metadata: { labels: { l: 5 } } },
      "number into Go struct field ObjectMeta.metadata.labels of type string",
    ],
    [
      { metadata: { ownerReferences: [{ uid: {} }] } },
      "object into Go struct field OwnerReference.metadata.ownerReferences.uid of type string",
    ],
    [
      { metadata: { ownerReferences: [{ uid: "u" }], name: 5 } },
      "number into Go struct field ObjectMeta.metadata.name of type string",
    ],
    [
      { metadata: { ownerReferences: {} } },
      "object into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference",
    ],
    [
      { metadata: { generation: 1.5 } },
      "number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
    ],
    [5, "number into Go value of type v1.ConfigMap"],
  ];
  for (const [value, text] of mismatches) {
    it(`says: cannot unmarshal ${text}`, () => {
      assert.throws(() => decodeShape(configMap, value), {
        name: "ShapeError",
        message: `json: cannot unmarshal ${text}`,
      });
    });
  }

  it("integers fit their type", () => {
    const numbers = message("x.v1.Numbers", { small: [1, int32], large: [2, int64] });
    const decode = (value: JsonValue) => decodeShape(numbers, value).value;
    assert.deepEqual(decode({ small: 2147483647, large: 9223372036854775807n }), {
      small: 2147483647,
      large: 9223372036854775807n,
    });
    assert.deepEqual(decode({ small: -2147483648 }), { small: -2147483648 });
    for (const small of [2147483648, -2147483649, 1e300]) {
      assert.throws(() => decode({ small }), { name: "ShapeError" }, String(small));
    }
  });

  it("bytes are padded standard base64", () => {
    for (const text of ["", "YQ==", "YWI=", "YWJj", "+/+/"]) {
      assert.deepEqual(decodeShape(secret, { data: { k: text } }).value, { data: { k: text } });
    }
    const refused: [text: string, byte: number][] = [
      ["YQ", 0],
      ["YWJj!!!!", 4],
      ["_-_-", 0],
      ["YQ=a", 2],
    ];
    for (const [text, byte] of refused) {
      assert.throws(() => decodeShape(secret, { data: { k: text } }), {
        message: `illegal base64 data at input byte ${byte}`,
      });
    }
  });

  it("times are RFC 3339", () => {
    const decode = (creationTimestamp: string) => decodeShape(objectMeta, { creationTimestamp });
    assert.ok(decode("2026-11-15T00:00:00Z"));
    assert.ok(decode("2026-11-15T00:00:00.123+01:00"));
    for (const text of ["yesterday", "2026-11-15", "2026-13-45T00:00:00Z", ""]) {
      assert.throws(() => decode(text), { name: "ShapeError", message: /^parsing time / }, text);
    }
  });
});

describe("decodeShapeResumable", () => {
  const attempt = (decode: () => unknown): unknown => {
    try {
      return decode();
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      return error.message;
    }
  };

  it("gives what decodeShape gives, and refuses what it refuses in the same words", () => {
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    const texts = fc.dictionary(
      fc.string(),
      fc.oneof({ weight: 9, arbitrary: fc.string() }, scalar),
    );
    const reference = fc.record(
      { uid: fc.string(), name: scalar, other: scalar },
      { requiredKeys: [] },
    );
    const metadata = fc.record(
      {
        name: scalar,
        labels: fc.oneof(texts, scalar),
        finalizers: fc.array(fc.oneof({ weight: 9, arbitrary: fc.string() }, scalar)),
        ownerReferences: fc.array(fc.oneof({ weight: 9, arbitrary: reference }, scalar)),
        creationTimestamp: fc.constantFrom("2024-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "x"),
        unknown: scalar,
      },
      { requiredKeys: [] },
    );
    const value = fc.record(
      {
        kind: fc.string(),
        metadata: fc.oneof({ weight: 9, arbitrary: metadata }, scalar),
        data: fc.oneof(texts, scalar, fc.constant({}), fc.constant([])),
        binaryData: fc.dictionary(fc.string(), fc.base64String()),
        spec: fc.record({ finalizers: fc.array(fc.string()), more: scalar }, { requiredKeys: [] }),
        immutable: scalar,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.constantFrom(configMap, secret, namespace), value, (shape, sent) => {
        assert.deepEqual(
          attempt(() => runSync(decodeShapeResumable(shape, sent as JsonValue))),
          attempt(() => decodeShape(shape, sent as JsonValue)),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("rests after every few hundred members and items, wherever they are", () => {
    const names = Array.from({ length: 5000 }, (_, i) => `n${i}`);
    const data = Object.fromEntries(names.map((name) => [name, name]));
    const large: readonly (readonly [typeof configMap, JsonValue])[] = [
      [configMap, { data }],
      [configMap, { metadata: { labels: data } }],
      [namespace, { spec: { finalizers: names } }],
    ];
    for (const [shape, value] of large) {
      const work = decodeShapeResumable(shape, value);
      let pieces = 1;
      for (; work.next().done !== true; pieces++);
      assert.ok(pieces >= 10, `${pieces} pieces`);
    }
  });
});
