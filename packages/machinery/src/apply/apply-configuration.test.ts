import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  cloneJson,
  type JsonObject,
  type JsonValue,
  jsonDepthMax,
  parseJson,
  stringifyJson,
} from "../json/index.ts";
import { StatusError } from "../status/index.ts";
import {
  type ApplyOptions,
  annotationsBytesMax,
  applyConfiguration,
  atomicType,
  deducedType,
  keyedListType,
  lastAppliedAnnotation,
  listType,
  managedFieldsOf,
  mapType,
  numericType,
  objectType,
  readObjectType,
  resetFieldsOf,
  setType,
  stringType,
  structType,
  updateManagedFields,
} from "./index.ts";

const container = structType({
  name: stringType,
  image: stringType,
  args: listType(stringType),
  env: mapType(stringType),
});
const schema = objectType({
  data: mapType(stringType),
  spec: structType({
    replicas: numericType,
    paused: stringType,
    containers: keyedListType(["name"], container),
    tags: setType(stringType),
    selector: atomicType(mapType(stringType)),
    nested: structType({ a: stringType, b: stringType }),
  }),
  status: mapType(stringType),
});
const [first, second] = ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"];
const base = { apiVersion: "v1", kind: "K" } as const;
const common = { ...base, now: first, schema, force: false } as const;

function object(parts: JsonObject): JsonObject {
  return {
    ...base,
    ...parts,
    metadata: { name: "x", namespace: "n", ...((parts["metadata"] ?? {}) as JsonObject) },
  };
}

function apply(
  manager: string,
  config: JsonObject,
  options: Partial<ApplyOptions> = {},
): JsonObject {
  const before = cloneJson([options.live ?? null, config]);
  const result = applyConfiguration({ ...common, manager, config, ...options });
  assert.deepEqual([options.live ?? null, config], before, "the inputs are left alone");
  return result;
}

/** Applies one configuration after the other to one object. */
type Step = readonly [manager: string, parts: JsonObject, options?: Partial<ApplyOptions>];

function sequence(...steps: readonly Step[]): JsonObject {
  let live: JsonObject | undefined;
  for (const [manager, parts, options] of steps)
    live = apply(manager, object(parts), { live, ...options });
  return live as JsonObject;
}

function write(live: JsonObject | undefined, manager: string, updated: JsonObject): JsonObject {
  return updateManagedFields({ ...common, live, manager, updated });
}

function owners(of: JsonObject): { [manager: string]: JsonValue } {
  const entries = (managedFieldsOf(of) ?? []) as readonly JsonObject[];
  return Object.fromEntries(
    entries.map(({ manager, operation, subresource, fieldsV1 }) => [
      `${operation} ${manager}${subresource === undefined ? "" : ` ${subresource}`}`,
      fieldsV1 as JsonValue,
    ]),
  );
}

function parts(of: JsonObject): JsonObject {
  const { apiVersion: _a, kind: _k, metadata: _m, ...rest } = of;
  return rest;
}

function failure(action: () => unknown): StatusError {
  try {
    action();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error("it succeeds");
}

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
      {
        live: sequence(["flux", { data: { a: "1" } }]),
        apiVersion: "v2",
      },
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

describe("fields that an applier drops", () => {
  const rows: readonly [string, readonly Step[], JsonObject][] = [
    [
      "go when nobody else owns them",
      [
        ["a", { data: { x: "1", y: "1" } }],
        ["a", { data: { x: "1" } }],
      ],
      { data: { x: "1" } },
    ],
    [
      "stay when another applier owns them",
      [
        ["a", { data: { x: "1" } }],
        ["b", { data: { x: "1" } }],
        ["a", {}],
      ],
      { data: { x: "1" } },
    ],
    [
      "go with the last owner",
      [
        ["a", { data: { x: "1" } }],
        ["b", { data: { x: "1" } }],
        ["a", {}],
        ["b", {}],
      ],
      {},
    ],
    [
      "take their empty parents with them",
      [
        ["a", { spec: { nested: { a: "1" }, paused: "x" } }],
        ["a", { spec: { paused: "x" } }],
      ],
      { spec: { paused: "x" } },
    ],
    [
      "leave a parent that is applied as empty",
      [
        ["a", { data: { x: "1" } }],
        ["a", { data: {} }],
      ],
      { data: {} },
    ],
    [
      "become null where null is applied",
      [
        ["a", { spec: { nested: { a: "1" }, paused: "x" } }],
        ["a", { spec: { nested: null, paused: "x" } }],
      ],
      { spec: { nested: null, paused: "x" } },
    ],
    [
      "can be items of a keyed list",
      [
        [
          "a",
          {
            spec: {
              containers: [
                { name: "x", image: "1" },
                { name: "y", image: "1" },
              ],
            },
          },
        ],
        ["a", { spec: { containers: [{ name: "y", image: "1" }] } }],
      ],
      { spec: { containers: [{ name: "y", image: "1" }] } },
    ],
    [
      "leave an item of which another owns a part",
      [
        ["a", { spec: { containers: [{ name: "x", image: "1" }] } }],
        ["b", { spec: { containers: [{ name: "x", env: { k: "v" } }] } }],
        ["a", {}],
      ],
      { spec: { containers: [{ name: "x", env: { k: "v" } }] } },
    ],
    [
      "can be items of a set",
      [
        ["a", { spec: { tags: ["x", "y"] } }],
        ["b", { spec: { tags: ["y", "z"] } }],
        ["a", {}],
      ],
      { spec: { tags: ["y", "z"] } },
    ],
    [
      "can be atomic",
      [
        ["a", { spec: { selector: { x: "1" }, paused: "p" } }],
        ["a", { spec: { paused: "p" } }],
      ],
      { spec: { paused: "p" } },
    ],
    [
      "leave nothing of an only list",
      [
        ["a", { spec: { tags: ["x"] } }],
        ["a", {}],
      ],
      {},
    ],
  ];
  for (const [title, steps, expected] of rows) {
    it(title, () => assert.deepEqual(parts(sequence(...steps)), expected));
  }

  it("stay when an updater owns them, as fields of a struct", () => {
    let live = sequence(["a", { spec: { nested: { a: "1" } } }]);
    live = write(live, "controller", { ...live, spec: { nested: { a: "1", b: "2" } } });
    live = apply("a", object({}), { live });
    assert.deepEqual(parts(live), { spec: { nested: { b: "2" } } });
    assert.deepEqual(owners(live), {
      "Update controller": { "f:spec": { "f:nested": { "f:b": {} } } },
    });
  });

  it("take with them what an updater has added to an item that only they own", () => {
    let live = sequence(["a", { spec: { paused: "p", containers: [{ name: "x", image: "1" }] } }]);
    const containers = [{ name: "x", image: "1", env: { k: "v" } }];
    live = write(live, "controller", { ...live, spec: { paused: "p", containers } });
    live = apply("a", object({ spec: { paused: "p" } }), { live });
    assert.deepEqual(parts(live), { spec: { paused: "p" } });
    assert.deepEqual(owners(live), { "Apply a": { "f:spec": { "f:paused": {} } } });
  });
});

describe("conflicts", () => {
  const live = sequence(
    ["a", { data: { x: "1" } }],
    ["b", { spec: { replicas: 1, containers: [{ name: "c", image: "i" }], tags: ["t"] } }],
  );

  it("name the owner and the field", () => {
    const error = failure(() => apply("c", object({ data: { x: "2" } }), { live }));
    assert.deepEqual(error.status, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      code: 409,
      reason: "Conflict",
      message: 'Apply failed with 1 conflict: conflict with "a": .data.x',
      details: {
        causes: [
          { reason: "FieldManagerConflict", message: 'conflict with "a"', field: ".data.x" },
        ],
      },
    });
  });

  it("list all owners and fields when there are several", () => {
    const error = failure(() =>
      apply(
        "c",
        object({
          data: { x: "2" },
          spec: { replicas: 2, containers: [{ name: "c", image: "j" }] },
        }),
        { live },
      ),
    );
    assert.equal(
      error.message,
      'Apply failed with 3 conflicts: conflicts with "a":\n- .data.x\nconflicts with "b":\n- .spec.replicas\n- .spec.containers[name="c"].image',
    );
    assert.deepEqual(
      error.status.details?.causes?.map(({ field }) => field),
      [".data.x", ".spec.replicas", '.spec.containers[name="c"].image'],
    );
  });

  it("say with which version and subresource an updater wrote", () => {
    let written = write(undefined, "kubectl-edit", object({ data: { x: "1" } }));
    assert.equal(
      failure(() => apply("c", object({ data: { x: "2" } }), { live: written })).message,
      'Apply failed with 1 conflict: conflict with "kubectl-edit" using v1: .data.x',
    );
    written = updateManagedFields({
      ...common,
      live: written,
      manager: "m",
      subresource: "status",
      updated: object({ data: { x: "3" } }),
    });
    assert.equal(
      failure(() => apply("c", object({ data: { x: "2" } }), { live: written })).message,
      'Apply failed with 1 conflict: conflict with "m" with subresource "status" using v1: .data.x',
    );
  });

  it("do not arise from equal values: both own the field", () => {
    const shared = apply("c", object({ data: { x: "1" } }), { live });
    assert.deepEqual(owners(shared)["Apply a"], { "f:data": { "f:x": {} } });
    assert.deepEqual(owners(shared)["Apply c"], { "f:data": { "f:x": {} } });
  });

  it("do not arise from items that nobody has yet", () => {
    const more = apply(
      "c",
      object({ spec: { tags: ["u"], containers: [{ name: "d", image: "k" }] } }),
      { live },
    );
    assert.deepEqual(parts(more)["spec"], {
      replicas: 1,
      containers: [
        { name: "c", image: "i" },
        { name: "d", image: "k" },
      ],
      tags: ["t", "u"],
    });
  });

  it("are overcome by force, and the others lose the fields", () => {
    const forced = apply("c", object({ data: { x: "2" } }), { live, force: true });
    assert.deepEqual(parts(forced)["data"], { x: "2" });
    assert.equal(owners(forced)["Apply a"], undefined);
    assert.deepEqual(owners(forced)["Apply c"], { "f:data": { "f:x": {} } });
  });

  it("arise between the applies and the updates of one name", () => {
    const written = write(live, "a", object({ ...parts(live), data: { x: "9" } }));
    assert.match(
      failure(() => apply("a", object({ data: { x: "1" } }), { live: written })).message,
      /conflict with "a" using v1: .data.x/,
    );
  });

  it("do not arise where a value without a schema changes its shape: what was in it is removed, not changed", () => {
    // Upstream does so too; whoever owns the value itself gets a conflict.
    const free = readObjectType(undefined);
    const map = apply("a", object({ spec: { free: { x: 1 } } }), { schema: free });
    const error = failure(() =>
      apply("b", object({ spec: { free: [1] } }), { live: map, schema: free }),
    );
    assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "a": .spec.free');
    const declared = objectType({ spec: structType({ free: deducedType }) });
    const inner = apply("a", object({ spec: { free: { x: 1 } } }), { schema: declared });
    const taken = apply("b", object({ spec: { free: [1] } }), { live: inner, schema: declared });
    assert.deepEqual(owners(taken), { "Apply b": { "f:spec": { "f:free": {} } } });
  });

  it("do not concern fields that the endpoint resets", () => {
    const withStatus = sequence(["a", { status: { s: "1" } }]);
    const applied = apply("c", object({ status: { s: "2" }, data: { x: "1" } }), {
      live: withStatus,
      resetFields: resetFieldsOf(["status"]),
    });
    assert.deepEqual(owners(applied)["Apply c"], { "f:data": { "f:x": {} } });
    assert.deepEqual(owners(applied)["Apply a"], { "f:status": { "f:s": {} } });
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

describe("kubectl after client-side apply", () => {
  const annotation = (config: JsonObject) => ({
    annotations: { [lastAppliedAnnotation]: JSON.stringify(config) },
  });
  const lastConfig = object({ data: { a: "1", b: "1" } });
  const live = write(
    undefined,
    "kubectl-client-side-apply",
    object({ data: { a: "1", b: "1", c: "1" }, metadata: annotation(lastConfig) }),
  );

  it("takes over what client-side apply set and nobody changed", () => {
    const applied = apply("kubectl", object({ data: { a: "2", b: "1" } }), { live });
    assert.deepEqual(parts(applied)["data"], { a: "2", b: "1", c: "1" });
    assert.deepEqual(owners(applied)["Apply kubectl"], { "f:data": { "f:a": {}, "f:b": {} } });
  });

  it("conflicts over the rest, and reports only the rest", () => {
    const changed = write(
      live,
      "editor",
      object({ data: { a: "1", b: "9", c: "1" }, metadata: annotation(lastConfig) }),
    );
    assert.equal(
      failure(() => apply("kubectl", object({ data: { a: "2", b: "2" } }), { live: changed }))
        .message,
      'Apply failed with 1 conflict: conflict with "editor" using v1: .data.b',
    );
  });

  it("conflicts when the annotation is of another version or cannot be read", () => {
    for (const value of [
      JSON.stringify({ ...lastConfig, apiVersion: "v0" }),
      "not json",
      '{"apiVersion":"v1","x":1}',
      "",
    ]) {
      const other = write(
        undefined,
        "kubectl-client-side-apply",
        object({ data: { a: "1" }, metadata: { annotations: { [lastAppliedAnnotation]: value } } }),
      );
      assert.equal(
        failure(() => apply("kubectl", object({ data: { a: "2" } }), { live: other })).code,
        409,
      );
    }
  });

  it("leaves managers of other names to conflict", () => {
    assert.equal(failure(() => apply("flux", object({ data: { a: "2" } }), { live })).code, 409);
  });

  it("writes the annotation anew, as kubectl would", () => {
    const applied = apply(
      "kubectl",
      object({ data: { b: "<1>", a: "2" }, metadata: { annotations: { x: "y" } } }),
      { live, force: true },
    );
    const { annotations } = applied["metadata"] as { annotations: JsonObject };
    assert.equal(
      annotations[lastAppliedAnnotation],
      '{"apiVersion":"v1","data":{"a":"2","b":"\\u003c1\\u003e"},"kind":"K","metadata":{"annotations":{"x":"y"},"name":"x","namespace":"n"}}\n',
    );
    assert.equal(annotations["x"], "y");
  });

  it("does not bring back an annotation that is gone, nor touch it for others", () => {
    const without = write(undefined, "m", object({ data: { a: "1" } }));
    const applied = apply("kubectl", object({ data: { b: "1" } }), { live: without });
    assert.equal((applied["metadata"] as JsonObject)["annotations"], undefined);
    const other = apply("flux", object({ data: { d: "1" } }), { live });
    assert.deepEqual(
      (other["metadata"] as JsonObject)["annotations"],
      annotation(lastConfig).annotations,
    );
  });

  it("gives the annotation up when it would be too big", () => {
    const sized = (bytes: number) => {
      const config = object({ data: { a: "x".repeat(bytes) } });
      const applied = apply("kubectl", config, { live, force: true });
      return ((applied["metadata"] as JsonObject)["annotations"] as JsonObject)[
        lastAppliedAnnotation
      ] as string | undefined;
    };
    const overhead = (sized(0) as string).length + lastAppliedAnnotation.length;
    assert.equal(
      sized(annotationsBytesMax - overhead)?.length,
      annotationsBytesMax - lastAppliedAnnotation.length,
    );
    assert.equal(sized(annotationsBytesMax - overhead + 1), undefined);
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
