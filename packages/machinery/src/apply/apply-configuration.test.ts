import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, jsonDepthMax, parseJson, stringifyJson } from "../json/index.ts";
import {
  apply,
  common,
  failure,
  first,
  object,
  owners,
  parts,
  second,
  sequence,
} from "./apply-fixture.ts";
import { managedFieldsOf, readObjectType, updateManagedFields } from "./index.ts";

describe("the first apply", () => {
  it("creates the object and owns what it says", () => {
    const created = apply("flux", object({ data: { b: "1", a: "2" } }));
    assert.deepEqual(parts(created), { data: { b: "1", a: "2" } });
    assert.equal(
      JSON.stringify(managedFieldsOf(created)),
      JSON.stringify([
        {
          manager: "flux",
          operation: "Apply",
          apiVersion: "v1",
          time: first,
          fieldsType: "FieldsV1",
          fieldsV1: { "f:data": { "f:a": {}, "f:b": {} } },
        },
      ]),
    );
  });

  it("to an object without managers leaves the rest to before-first-apply", () => {
    const live = object({ data: { a: "1", b: "1" }, metadata: { uid: "u" } });
    const applied = apply("flux", object({ data: { a: "1", c: "1" } }), { live });
    assert.deepEqual(parts(applied), { data: { a: "1", b: "1", c: "1" } });
    assert.deepEqual(owners(applied), {
      "Apply flux": { "f:data": { "f:a": {}, "f:c": {} } },
      "Update before-first-apply": { "f:data": { ".": {}, "f:a": {}, "f:b": {} } },
    });
  });

  it("to such an object conflicts with what it changes", () => {
    const live = object({ data: { a: "1" }, metadata: { uid: "u" } });
    assert.equal(
      failure(() => apply("flux", object({ data: { a: "2" } }), { live })).message,
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    );
  });
});

describe("applying again", () => {
  it("gives the live object itself when nothing changes", () => {
    const live = sequence([
      "flux",
      { data: { a: "1" }, spec: { containers: [{ name: "x", image: "y" }] } },
    ]);
    const again = apply(
      "flux",
      object({ data: { a: "1" }, spec: { containers: [{ name: "x", image: "y" }] } }),
      { live, now: second },
    );
    assert.equal(again, live);
  });

  it("renews the time when a value changes", () => {
    const live = sequence(
      ["flux", { data: { a: "1" } }],
      ["flux", { data: { a: "2" } }, { now: second }],
    );
    assert.equal(((managedFieldsOf(live) as JsonObject[])[0] as JsonObject)["time"], second);
  });

  it("keeps one entry per applier, whatever its version", () => {
    const live = apply(
      "flux",
      { ...object({ data: { a: "1" } }), apiVersion: "v2" },
      { live: sequence(["flux", { data: { a: "1" } }]), apiVersion: "v2" },
    );
    assert.deepEqual(
      (managedFieldsOf(live) as JsonObject[]).map((e) => e["apiVersion"]),
      ["v2"],
    );
  });

  it("drops the entry of an applier that applies nothing", () => {
    const live = sequence(
      ["flux", { data: { a: "1" } }],
      ["argo", { data: { b: "1" } }],
      ["flux", {}],
    );
    assert.deepEqual(parts(live), { data: { b: "1" } });
    assert.deepEqual(owners(live), { "Apply argo": { "f:data": { "f:b": {} } } });
  });
});

describe("a configuration that cannot be applied", () => {
  const rows: readonly [string, JsonObject, number, string | undefined, string][] = [
    [
      "is in another version",
      { ...object({}), apiVersion: "v2" },
      400,
      "BadRequest",
      "Incorrect version specified in apply patch. Specified patch version: v2, expected: v1",
    ],
    [
      "is of another kind",
      { ...object({}), kind: "L" },
      400,
      "BadRequest",
      "invalid object type: /v1, Kind=L",
    ],
    [
      "carries managedFields",
      object({ metadata: { managedFields: [] } }),
      400,
      "BadRequest",
      "metadata.managedFields must be nil",
    ],
    [
      "has an unknown field",
      object({ spec: { unknownField: 1 } }),
      500,
      undefined,
      "failed to create typed patch object (n/x; /v1, Kind=K): .spec.unknownField: field not declared in schema",
    ],
    [
      "has duplicate items",
      object({ spec: { containers: [{ name: "a" }, { name: "a" }] } }),
      500,
      undefined,
      'failed to create typed patch object (n/x; /v1, Kind=K): .spec.containers: duplicate entries for key [name="a"]',
    ],
  ];
  for (const [title, config, code, reason, message] of rows) {
    it(title, () => {
      const { status } = failure(() => apply("m", config));
      assert.deepEqual([status.code, status.reason, status.message], [code, reason, message]);
    });
  }

  it("may have managedFields of null", () => {
    assert.ok(apply("m", object({ metadata: { managedFields: null } })));
  });

  it("names its group and version", () => {
    const config = { apiVersion: "example.com/v1", kind: "K", metadata: { name: "x" }, foo: 1 };
    assert.equal(
      failure(() => apply("m", config, { apiVersion: "example.com/v1" })).message,
      "failed to create typed patch object (/x; example.com/v1, Kind=K): .foo: field not declared in schema",
    );
  });
});

describe("objects as deep as the parser reads", () => {
  const free = readObjectType(undefined);
  const deep = (value: number, levels: number): JsonObject =>
    parseJson(
      `{"apiVersion":"v1","kind":"K","metadata":{"name":"x"},"a":${'{"a":'.repeat(levels)}${value}${"}".repeat(levels)}}`,
    ).value as JsonObject;
  const stored = (value: JsonObject): JsonObject =>
    parseJson(stringifyJson(value)).value as JsonObject;

  it("can be written, read back, and applied to", () => {
    const levels = jsonDepthMax - 2;
    let live = stored(
      updateManagedFields({ ...common, schema: free, manager: "m", updated: deep(1, levels) }),
    );
    live = stored(
      updateManagedFields({
        ...common,
        schema: free,
        manager: "n",
        live,
        updated: deep(2, levels),
      }),
    );
    live = stored(apply("flux", deep(3, levels), { live, schema: free, force: true }));
    live = stored(apply("flux", deep(4, 3), { live, schema: free, force: true }));
    assert.deepEqual(live["a"], { a: { a: { a: 4 } } });
  });
});
