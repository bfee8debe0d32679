/**
 * Goal: a reconcile is skipped only while all received events show that it would find nothing to
 * do.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { ObjectKey } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import { RecentWrites, recentWritesMax, recentWritesMs } from "./recent-writes.ts";

const namespaceIn = (cluster: string): ObjectKey => ({
  cluster: cluster as ClusterName,
  namespace: "",
  name: "default",
});
const inA = namespaceIn("a");
const inB = namespaceIn("b");

describe("recent writes of a namespace", () => {
  it("show a complete namespace when each of its default objects was added and none was deleted", () => {
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

  it("show a deleted namespace, until it is created again", () => {
    const lately = new RecentWrites(new FakeClock(), ["rootCa"]);
    lately.hasMember(inA, "rootCa");
    lately.deleted(inA);
    assert.deepEqual([lately.isGone(inA), lately.isGone(inB)], [true, false]);
    lately.added(inA);
    assert.deepEqual([lately.isGone(inA), lately.isWhole(inA)], [false, false]);
  });

  it("are bounded, and expire", async () => {
    const clock = new FakeClock();
    const lately = new RecentWrites(clock, ["rootCa"]);
    for (let i = 0; i <= recentWritesMax; i++) {
      lately.hasMember(namespaceIn(`c${i}`), "rootCa");
      lately.deleted(namespaceIn(`d${i}`));
    }
    assert.equal(lately.size, 2 * recentWritesMax);
    await clock.advanceAndFlush(recentWritesMs);
    assert.equal(lately.size, 0);
    lately.deleted(inA);
    await clock.advanceAndFlush(recentWritesMs);
    assert.equal(lately.size, 0, "also what was heard later");
  });
});
