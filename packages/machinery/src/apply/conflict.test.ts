import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apply, common, failure, object, owners, parts, sequence, write } from "./apply-fixture.ts";
import { conflictsListedMax } from "./conflict.ts";
import {
  deducedType,
  objectType,
  readObjectType,
  resetFieldsOf,
  structType,
  updateManagedFields,
} from "./index.ts";

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

  it("do not arise from items without an owner", () => {
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
    // Upstream does so, too; an owner of the value itself gets a conflict.
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

  it("are listed up to a limit and counted beyond", () => {
    const data = (count: number, value: string) =>
      object({
        data: Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value])),
      });
    const conflict = (count: number) =>
      failure(() => apply("b", data(count, "2"), { live: apply("a", data(count, "1")) }));
    const full = conflict(conflictsListedMax);
    assert.equal(full.status.details?.causes?.length, conflictsListedMax);
    assert.ok(!full.message.includes("more"));
    const over = conflict(conflictsListedMax + 1);
    assert.equal(over.status.details?.causes?.length, conflictsListedMax);
    assert.match(over.message, /^Apply failed with 1001 conflicts: .*\nand 1 more$/s);
  });
});
