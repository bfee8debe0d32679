import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { autoUpdateAnnotation, ensuredObject, planEnsure } from "./bootstrap-ensurer.ts";

const spec = { type: "Limited", limited: { nominalConcurrencyShares: 100 } };
const other = { type: "Limited", limited: { nominalConcurrencyShares: 7 } };
const model: JsonObject = { metadata: { name: "workload-low" }, spec };

interface Stored {
  readonly name?: string;
  readonly flag?: string;
  readonly generation?: number;
  readonly spec?: JsonObject;
}

function stored({ name = "workload-low", flag, generation = 2, spec: own = other }: Stored) {
  const annotations = flag === undefined ? {} : { [autoUpdateAnnotation]: flag };
  return { metadata: { name, generation, annotations }, spec: own } as JsonObject;
}

/** The origin of the resulting spec, and the value of the annotation. */
function outcome(object: JsonObject, of = model): string {
  const next = ensuredObject(of, object) as { spec: object; metadata: { annotations: object } };
  const flag = Object.values(next.metadata.annotations)[0] as string;
  return `${next.spec === object["spec"] ? "kept" : "put right"}, ${flag}`;
}

describe("the ensurer and a stored bootstrap object", () => {
  for (const [what, given, expected] of [
    ["the server's, and changed", { flag: "true" }, "put right, true"],
    ["the server's, and as it should be", { flag: "true", spec }, "kept, true"],
    ["the operator's", { flag: "false" }, "kept, false"],
    ["the operator's, in another spelling", { flag: "F" }, "kept, F"],
    ["nobody's, never changed", { generation: 1 }, "put right, true"],
    ["nobody's, changed", { generation: 3 }, "kept, false"],
    ["of no use as a flag, changed", { flag: "yes" }, "kept, false"],
    ["of no use as a flag, never changed", { flag: "yes", generation: 1 }, "put right, true"],
  ] as const)
    it(`handles an object that is ${what}: ${expected}`, () =>
      assert.equal(outcome(stored(given)), expected));

  it("always overwrites the spec of a mandatory object", () => {
    const catchAll = { metadata: { name: "catch-all" }, spec };
    const given = stored({ name: "catch-all", flag: "false" });
    assert.equal(outcome(given, catchAll), "put right, true");
  });

  it("keeps the operator's seats of the exempt level", () => {
    const exempt = { metadata: { name: "exempt" }, spec: { type: "Exempt", exempt: { a: 0 } } };
    const own = { type: "Exempt", exempt: { a: 3 } };
    const given = stored({ name: "exempt", flag: "true", spec: own });
    assert.equal(outcome(given, exempt), "kept, true");
    const without = stored({ name: "exempt", flag: "true", spec: { type: "Exempt" } });
    assert.equal(outcome(without, exempt), "put right, true");
  });
});

describe("the maintenance of bootstrap objects", () => {
  it("creates missing objects, and deletes only objects that an older server created", () => {
    const old = stored({ name: "old", flag: "true" });
    const mine = [stored({ name: "mine" }), stored({ name: "kept", flag: "false" })];
    const { create, update, remove } = planEnsure([model], [old, ...mine]);
    assert.deepEqual([create, update, remove], [[model], [], [old]]);
    assert.deepEqual(planEnsure([model], [stored({ flag: "true", spec })]), {
      create: [],
      update: [],
      remove: [],
    });
  });
});
