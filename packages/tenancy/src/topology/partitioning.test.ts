/**
 * Goal: shards are partitioned by the values of their labels, and a Partition's name follows from
 * its content.
 */
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

describe("a partitioning of shards", () => {
  it("has one partition for each value of its dimension, and leaves out shards without the label", () => {
    assert.deepEqual(labelsOf({ dimensions: ["region"], shardSelector: undefined }), [
      { region: "eu" },
      { region: "us" },
    ]);
  });

  it("has one partition for each combination of values that a shard has", () => {
    assert.deepEqual(labelsOf({ dimensions: ["region", "cloud"], shardSelector: undefined }), [
      { region: "eu", cloud: "a" },
      { region: "eu", cloud: "b" },
      { region: "us", cloud: "a" },
    ]);
  });

  it("copies the labels of its selector into every partition, and includes no shard that it does not select", () => {
    const shardSelector = { matchLabels: { cloud: "a" } };
    assert.deepEqual(labelsOf({ dimensions: ["region"], shardSelector }), [
      { region: "eu", cloud: "a" },
      { region: "us", cloud: "a" },
    ]);
    assert.deepEqual(labelsOf({ dimensions: [], shardSelector }), [{ cloud: "a" }]);
  });

  it("copies matchExpressions unchanged", () => {
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

  it("without a dimension and without labels has no partition", () => {
    assert.deepEqual(labelsOf({ dimensions: [], shardSelector: undefined }), []);
    assert.deepEqual(labelsOf({ dimensions: [], shardSelector: {} }), []);
  });

  it("is not misled by property names that all JavaScript objects have", () => {
    assert.deepEqual(labelsOf({ dimensions: ["constructor"], shardSelector: undefined }), []);
  });
});

describe("the key of a selector", () => {
  it("is independent of the order of labels, and depends on everything else", () => {
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

  it("has the set and the values of its dimensions in their order, in characters that names allow", () => {
    const name = partitionName(set, ["region", "cloud"], selector);
    assert.match(name, /^regions-a-eu-west-1-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it("is the same on every call, and differs for another set or another selector", () => {
    const name = partitionName(set, ["region"], selector);
    assert.equal(partitionName(set, ["region"], selector), name);
    assert.notEqual(partitionName({ ...set, uid: "5678" }, ["region"], selector), name);
    const other = { matchLabels: { region: "eu-west-1", cloud: "a" } };
    assert.notEqual(partitionName(set, ["region"], other), name);
  });

  it("is truncated where generateName truncates", () => {
    const name = partitionName({ name: "x".repeat(100), uid: "1" }, ["region"], selector);
    assert.equal(name.length, 63);
    assert.ok(name.startsWith("x".repeat(58)));
  });
});
