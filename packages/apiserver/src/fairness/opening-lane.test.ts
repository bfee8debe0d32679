import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../testing/index.ts";
import { OpeningLane, openingLimits } from "./opening-lane.ts";

const { atOnceMax, perSecond, ofFlowMax } = openingLimits;

function laneOf(hasCompany: boolean) {
  const clock = new FakeClock();
  const state = { hasCompany };
  const lane = new OpeningLane({ clock, hasCompany: () => state.hasCompany });
  const opened: string[] = [];
  const refused: unknown[] = [];
  const open = (share: string) => {
    const leaving = new AbortController();
    const visitor = { share, signal: leaving.signal };
    const waiting = lane.enter(share, "user", visitor);
    if (waiting === undefined) opened.push(share);
    else
      waiting.then(
        () => opened.push(share),
        (error) => refused.push(error),
      );
    return leaving;
  };
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += openingLimits.intervalMs) {
      clock.advance(openingLimits.intervalMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { lane, open, opened, refused, pass, state };
}

describe("opening watches", () => {
  it("has no bound for who is alone", () => {
    const { open, opened } = laneOf(false);
    for (let i = 0; i < atOnceMax * 3; i++) open("a");
    assert.equal(opened.length, atOnceMax * 3);
  });

  it("beside others goes on at its pace after so many at once", async () => {
    const { open, opened, pass } = laneOf(true);
    for (let i = 0; i < atOnceMax + perSecond; i++) open("a");
    assert.equal(opened.length, atOnceMax);
    await pass(500);
    assert.ok(Math.abs(opened.length - atOnceMax - perSecond / 2) <= 5, `${opened.length}`);
    await pass(600);
    assert.equal(opened.length, atOnceMax + perSecond);
  });

  it("of one who wants few does not wait for one who wants many", async () => {
    const { open, opened, pass } = laneOf(true);
    for (let i = 0; i < atOnceMax + 500; i++) open("many");
    open("few");
    await pass(2 * openingLimits.intervalMs);
    assert.ok(opened.includes("few"));
  });

  it("goes faster when the others have gone", async () => {
    const { open, opened, pass, state } = laneOf(true);
    for (let i = 0; i < atOnceMax + 400; i++) open("a");
    state.hasCompany = false;
    await pass(100);
    assert.equal(opened.length, atOnceMax + 400);
  });

  it("forgets those who leave, and refuses more than may wait", async () => {
    const { lane, open, refused, pass } = laneOf(true);
    for (let i = 0; i < atOnceMax; i++) open("a");
    const leaving = Array.from({ length: ofFlowMax }, () => open("a"));
    open("a");
    await pass(0);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(refused.length, 1);
    for (const each of leaving) each.abort(new Error("gone"));
    assert.equal(lane.waiting, 0);
  });
});
