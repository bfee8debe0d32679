import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forEachAtOnce } from "./entries-at-once.ts";

const sized = (...lengths: readonly number[]) => lengths.map((length) => ({ value: { length } }));

/** The maximal number of items in flight at once, and of their bytes. */
async function mostAtOnce(lengths: readonly number[], countMax?: number) {
  let [count, bytes, done] = [0, 0, 0];
  const most = { count: 0, bytes: 0 };
  await forEachAtOnce(
    sized(...lengths),
    async ({ value: { length } }) => {
      most.count = Math.max(most.count, ++count);
      bytes += length;
      most.bytes = Math.max(most.bytes, bytes);
      await new Promise((resolve) => setImmediate(resolve));
      count--;
      bytes -= length;
      done++;
    },
    countMax,
  );
  assert.equal(done, lengths.length);
  return most;
}

describe("processing many objects concurrently", () => {
  it("has several of them in flight at once", async () => {
    assert.deepEqual(await mostAtOnce(Array(100).fill(10)), { count: 32, bytes: 320 });
    assert.deepEqual(await mostAtOnce(Array(100).fill(10), 2), { count: 2, bytes: 20 });
  });

  it("has few of them in flight when they are large, and at least one", async () => {
    const { count, bytes } = await mostAtOnce(Array(20).fill(300_000));
    assert.equal(count, 3);
    assert.equal(bytes, 900_000);
    assert.equal((await mostAtOnce(Array(5).fill(3 << 20))).count, 1);
  });

  it("rejects with the first error when the operations in flight have ended, and begins no more", async () => {
    const begun: number[] = [];
    let ended = 0;
    const work = forEachAtOnce(sized(...Array(100).keys()), async ({ value: { length } }) => {
      begun.push(length);
      await new Promise((resolve) => setImmediate(resolve));
      ended++;
      if (length === 3) throw new Error("it was the third");
    });
    await assert.rejects(work, /it was the third/);
    assert.equal(ended, begun.length);
    assert.ok(begun.length < 100);
  });
});
