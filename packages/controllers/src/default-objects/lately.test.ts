/** Goal: a look is left out only while everything that was heard says that it would find nothing to do. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { ObjectKey } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import { RecentWrites, recentWritesMax, recentWritesMs } from "./lately.ts";

const namespaceIn = (cluster: string): ObjectKey => ({
  cluster: cluster as ClusterName,
  namespace: "",
  name: "default",
});
const inA = namespaceIn("a");
const inB = namespaceIn("b");

describe("what was heard lately of a namespace", () => {
  it("is that it is whole when each of its members was told and none was taken away", () => {
    const lately = new RecentWrites(new FakeClock(), ["rootCa", "serviceAccount"]);
    lately.hasMember(inA, "rootCa");
    assert.equal(lately.isWhole(inA), false);
    lately.hasMember(inA, "serviceAccount");
    assert.equal(lately.isWhole(inB), false);
    assert.equal(lately.isWhole(inA), true);
    assert.equal(lately.isWhole(inA), false, "it is told once");
    lately.hasMember(inA, "rootCa");
    lately.lacksMember(inA);
    lately.hasMember(inA, "serviceAccount");
    assert.equal(lately.isWhole(inA), false);
  });

  it("is that it is gone, until it is there again", () => {
    const lately = new RecentWrites(new FakeClock(), ["rootCa"]);
    lately.hasMember(inA, "rootCa");
    lately.deleted(inA);
    assert.deepEqual([lately.isGone(inA), lately.isGone(inB)], [true, false]);
    lately.added(inA);
    assert.deepEqual([lately.isGone(inA), lately.isWhole(inA)], [false, false]);
  });

  it("is bounded, and forgotten after a while", async () => {
    const clock = new FakeClock();
    const lately = new RecentWrites(clock, ["rootCa"]);
    for (let i = 0; i <= recentWritesMax; i++) {
      lately.hasMember(namespaceIn(`c${i}`), "rootCa");
      lately.deleted(namespaceIn(`d${i}`));
    }
    assert.equal(lately.size, 2 * recentWritesMax);
    await clock.advanceAndSettle(recentWritesMs);
    assert.equal(lately.size, 0);
    lately.deleted(inA);
    await clock.advanceAndSettle(recentWritesMs);
    assert.equal(lately.size, 0, "also what was heard later");
  });
});
