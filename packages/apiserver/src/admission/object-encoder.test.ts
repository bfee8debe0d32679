import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WorkBudget } from "@kcp-ts/machinery/bounds";
import { ObjectEncoder } from "./object-encoder.ts";

const budgetOf = (unitsMax: number) =>
  new WorkBudget({ name: "reviews", sender: "tenant", unitsMax });

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");

describe("an encoder of reviewed objects", () => {
  it("encodes a state once, and the old object once for all states", async () => {
    const encoder = new ObjectEncoder(budgetOf(100));
    const old = { a: "old ü" };
    const first = { a: "first 世" };
    let reads = 0;
    const objectsOf = (object: typeof first) => async () => {
      reads++;
      return { object, old };
    };
    const one = await encoder.encode(first, objectsOf(first));
    assert.equal(textOf(one.object), JSON.stringify(first));
    assert.equal(textOf(one.old), JSON.stringify(old));
    assert.equal(await encoder.encode(first, objectsOf(first)), one);
    assert.equal(reads, 1);
    const second = { a: "second" };
    const two = await encoder.encode(second, objectsOf(second));
    assert.equal(textOf(two.object), JSON.stringify(second));
    assert.equal(two.old, one.old);
  });

  it("uses the memory of a state for the next one, and more for a larger one", async () => {
    const encoder = new ObjectEncoder(budgetOf(100));
    const encode = async (text: string) => {
      const object = { text };
      return (await encoder.encode(object, async () => ({ object, old: null }))).object;
    };
    const one = await encode("x".repeat(100_000));
    const two = await encode("y".repeat(101_000));
    assert.equal(two.buffer, one.buffer);
    assert.equal(textOf(two), `{"text":"${"y".repeat(101_000)}"}`);
    const three = await encode("z".repeat(200_000));
    assert.equal(textOf(three), `{"text":"${"z".repeat(200_000)}"}`);
  });

  it("charges the values of every state", async () => {
    const encoder = new ObjectEncoder(budgetOf(5));
    const object = { a: 1, b: [2] };
    const objects = async () => ({ object, old: null });
    await encoder.encode(object, objects);
    await encoder.encode(object, objects);
    await assert.rejects(
      encoder.encode({ ...object }, objects),
      /^BoundExceededError: reviews: limit is 5 units of work$/,
    );
  });
});
