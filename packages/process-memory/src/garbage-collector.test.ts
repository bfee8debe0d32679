import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getHeapSpaceStatistics } from "node:v8";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import {
  heapBytesMax,
  liveBytesMax,
  memoryReducer,
  throttledGarbageCollector,
  unlessHeapIsLarge,
} from "./garbage-collector.ts";

describe("collecting while lists are read", () => {
  it("takes a twentieth of the time at most, however often it is called", () => {
    const clock = new FakeClock();
    let collections = 0;
    const tidy = throttledGarbageCollector(
      clock,
      () => {
        collections++;
        clock.advance(10);
      },
      () => 0,
    );
    const startedAt = clock.monotonic();
    for (let ms = 0; ms < 2100; ms++) {
      tidy();
      clock.advance(1);
    }
    assert.ok(collections > 1);
    assert.ok(collections * 10 * 20 <= clock.monotonic() - startedAt);
  });

  it("does not begin in a heap that is large already", () => {
    const clock = new FakeClock();
    let collections = 0;
    let used = heapBytesMax + 1;
    const tidy = throttledGarbageCollector(
      clock,
      () => collections++,
      () => used,
    );
    tidy();
    assert.equal(collections, 0);
    used = heapBytesMax;
    tidy();
    assert.equal(collections, 1);
  });
});

describe("returning memory", () => {
  it("does not stop a large server again and again", async () => {
    let used = 3 * liveBytesMax;
    let alive = 2 * liveBytesMax;
    let collections = 0;
    const giveBack = unlessHeapIsLarge(
      async () => {
        collections++;
        used = alive;
      },
      () => used,
    );
    // How much of it is in use is only known afterwards.
    await giveBack();
    await giveBack();
    assert.equal(collections, 1);
    used = alive = liveBytesMax / 2;
    await giveBack();
    used = 3 * liveBytesMax;
    await giveBack();
    assert.equal(collections, 3);
  });

  it("releases the young generation's growth under load, and its garbage", async () => {
    let survivors: { readonly at: number }[] = [];
    // What survives for a while makes the nursery grow, and then is garbage among the old.
    for (let round = 0; round < 40; round++) {
      const made = Array.from({ length: 50_000 }, (_, at) => ({ at }));
      survivors = round % 4 === 0 ? made : survivors.concat(made);
    }
    const loaded = spaces();
    assert.ok(loaded.young > 4 << 20, `the nursery has grown to ${loaded.young} bytes`);
    survivors = [];
    const giveBack = memoryReducer(() => assert.fail("this Node has an inspector"));
    // The nursery shrinks when nothing was allocated for a moment.
    await eventually(async () => {
      await giveBack();
      const after = spaces();
      assert.ok(after.young <= 4 << 20, `the nursery has ${after.young} bytes`);
      assert.ok(after.old < loaded.old, `the old have ${after.old} of ${loaded.old} bytes`);
    });
    assert.equal(survivors.length, 0);
  });
});

function spaces(): { young: number; old: number } {
  const sizeOf = (name: string) =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === name)?.space_size ?? 0;
  return { young: sizeOf("new_space"), old: sizeOf("old_space") + sizeOf("large_object_space") };
}
