/**
 * Large applies and updates yield between their steps and have the same results as small ones; the
 * number of list items that can be owned individually is bounded.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import {
  applyConfiguration,
  applyResumable,
  keyedListType,
  objectType,
  setType,
  stringType,
  structType,
  updateManagedFields,
  updateResumable,
} from "./index.ts";
import { ownedItemsMax } from "./typed-validate.ts";

const schema = objectType({
  set: setType(stringType),
  keyed: keyedListType(["k"], structType({ k: stringType, v: stringType })),
});
const write = { manager: "m", apiVersion: "v1", now: "2026-01-01T00:00:01Z", schema, kind: "X" };
const config = (members: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "X",
  metadata: { name: "x" },
  ...members,
});

function counted<Result>(work: Generator<void, Result, void>) {
  for (let rests = 0; ; rests++) {
    const { done, value } = work.next();
    if (done === true) return { rests, result: value };
  }
}

describe("resumable applies and updates", () => {
  const sent = config({ set: ["a", "b"], keyed: [{ k: "1", v: "x" }] });

  it("an apply rests between its steps and gives the same", () => {
    const live = applyConfiguration({ ...write, config: sent, force: false });
    const next = { ...write, live, manager: "n", config: config({ set: ["c"] }), force: false };
    const { rests, result } = counted(applyResumable(next));
    assert.deepEqual(result, applyConfiguration(next));
    assert.ok(rests >= 5, `${rests} rests`);
  });

  it("an apply that drops fields rests between the steps that visit the whole object", () => {
    const keyed = Array.from({ length: 50 }, (_, i) => ({ k: `${i}`, v: "x" }));
    const live = applyConfiguration({ ...write, config: config({ keyed }), force: false });
    const first = keyed.slice(0, 1);
    const next = { ...write, live, config: config({ keyed: first }), force: false };
    const { rests, result } = counted(applyResumable(next));
    assert.deepEqual(result["keyed"], first);
    const again = counted(applyResumable({ ...next, config: config({ keyed }) }));
    assert.ok(rests - again.rests >= 15, `${rests} rests, ${again.rests} without pruning`);
  });

  it("an apply rests more often the more managers there are", () => {
    const rests = (managers: number): number => {
      let live: JsonObject | undefined;
      for (let i = 0; i < managers; i++) {
        const each = { ...write, live, manager: `m${i}`, config: config({ set: [`i${i}`] }) };
        live = applyConfiguration({ ...each, force: false });
      }
      const next = { ...write, live, config: config({ set: ["last"] }), force: false };
      return counted(applyResumable({ ...next, manager: "last" })).rests;
    };
    assert.ok(rests(5) - rests(1) >= 4 * 2);
  });

  it("a create rests when items are owned one by one", () => {
    const create = { ...write, updated: sent };
    const { rests, result } = counted(updateResumable(create));
    assert.deepEqual(result, updateManagedFields(create));
    assert.equal(rests, 1);
  });

  it("an update rests between its steps and gives the same", () => {
    const live = updateManagedFields({ ...write, updated: sent });
    const next = { ...write, live, manager: "n", updated: config({ set: ["c"] }) };
    const { rests, result } = counted(updateResumable(next));
    assert.deepEqual(result, updateManagedFields(next));
    assert.ok(rests >= 4, `${rests} rests`);
  });
});

describe("items that are owned one by one", () => {
  const items = (count: number): string[] => Array.from({ length: count }, (_, i) => `i${i}`);
  const apply = (members: JsonObject): JsonObject =>
    applyConfiguration({ ...write, config: config(members), force: false });

  it(`may be ${ownedItemsMax} in all lists together, and not one more`, () => {
    const keyed = [{ k: "1" }, { k: "2" }];
    assert.ok(apply({ set: items(ownedItemsMax - 2), keyed }));
    assert.throws(() => apply({ set: items(ownedItemsMax - 1), keyed }), {
      message: `Request entity too large: limit is ${ownedItemsMax} items of lists of type set and map`,
    });
  });
});
