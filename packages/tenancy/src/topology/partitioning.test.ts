/** Goal: shards are divided by the values of their labels, and a Partition's name follows from what it is. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { partitionName, partitionSelectors, selectorKey } from "./partitioning.ts";

const shards = [
  { region: "eu", cloud: "a" },
  { region: "eu", cloud: "b" },
  { region: "us", cloud: "a" },
  { cloud: "a" },
];
const labelsOf = (division: Parameters<typeof partitionSelectors>[0]) =>
  [...partitionSelectors(division, shards).values()].map(({ matchLabels }) => matchLabels);

describe("a division of shards", () => {
  it("has one part for each value of its dimension, and leaves out who lacks the label", () => {
    assert.deepEqual(labelsOf({ dimensions: ["region"], shardSelector: undefined }), [
      { region: "eu" },
      { region: "us" },
    ]);
  });

  it("has one part for each combination that some shard has", () => {
    assert.deepEqual(labelsOf({ dimensions: ["region", "cloud"], shardSelector: undefined }), [
      { region: "eu", cloud: "a" },
      { region: "eu", cloud: "b" },
      { region: "us", cloud: "a" },
    ]);
  });

  it("takes the labels that its selector asks for into every part, and no shard that it does not select", () => {
    const shardSelector = { matchLabels: { cloud: "a" } };
    assert.deepEqual(labelsOf({ dimensions: ["region"], shardSelector }), [
      { region: "eu", cloud: "a" },
      { region: "us", cloud: "a" },
    ]);
    assert.deepEqual(labelsOf({ dimensions: [], shardSelector }), [{ cloud: "a" }]);
  });

  it("hands expressions on as they are", () => {
    const matchExpressions = [{ key: "cloud", operator: "NotIn", values: ["b"] }];
    const parts = partitionSelectors(
      { dimensions: ["region"], shardSelector: { matchExpressions } },
      shards,
    );
    assert.deepEqual(
      [...parts.values()],
      [
        { matchLabels: { region: "eu" }, matchExpressions },
        { matchLabels: { region: "us" }, matchExpressions },
      ],
    );
  });

  it("without a dimension and without labels has no part", () => {
    assert.deepEqual(labelsOf({ dimensions: [], shardSelector: undefined }), []);
    assert.deepEqual(labelsOf({ dimensions: [], shardSelector: {} }), []);
  });

  it("is not misled by labels that objects have by themselves", () => {
    assert.deepEqual(labelsOf({ dimensions: ["constructor"], shardSelector: undefined }), []);
  });
});

describe("the key of a selector", () => {
  it("does not depend on the order of labels, and does on everything else", () => {
    const key = selectorKey({ matchLabels: { a: "1", b: "2" } });
    assert.equal(selectorKey({ matchLabels: { b: "2", a: "1" } }), key);
    assert.notEqual(selectorKey({ matchLabels: { a: "1", b: "3" } }), key);
    const matchExpressions = [{ key: "c", operator: "Exists" }];
    assert.notEqual(selectorKey({ matchLabels: { a: "1", b: "2" }, matchExpressions }), key);
  });
});

describe("the name of a Partition", () => {
  const set = { name: "regions", uid: "1234" };
  const selector = { matchLabels: { region: "EU_West.1", cloud: "a" } };

  it("says the set and the values of its dimensions in their order, with characters that names may have", () => {
    const name = partitionName(set, ["region", "cloud"], selector);
    assert.match(name, /^regions-a-eu-west-1-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it("is the same whenever it is asked for, and another of another set or another selector", () => {
    const name = partitionName(set, ["region"], selector);
    assert.equal(partitionName(set, ["region"], selector), name);
    assert.notEqual(partitionName({ ...set, uid: "5678" }, ["region"], selector), name);
    const other = { matchLabels: { region: "eu-west-1", cloud: "a" } };
    assert.notEqual(partitionName(set, ["region"], other), name);
  });

  it("is cut where generateName cuts", () => {
    const name = partitionName({ name: "x".repeat(100), uid: "1" }, ["region"], selector);
    assert.equal(name.length, 63);
    assert.ok(name.startsWith("x".repeat(58)));
  });
});
