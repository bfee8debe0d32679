import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../testing/index.ts";
import { eventLoopLimits } from "./limits.ts";
import { WatchOpenLimiter } from "./request-queues.ts";

const { burstMax, perSecond, waitingPerFlowMax } = eventLoopLimits.watchOpens;

function limiterOf(isContended: boolean) {
  const clock = new FakeClock();
  const state = { isContended };
  const limiter = new WatchOpenLimiter({ clock, isContended: () => state.isContended });
  const opened: string[] = [];
  const refused: unknown[] = [];
  const open = (tenantKey: string) => {
    const leaving = new AbortController();
    const waiting = limiter.enter("user", { tenantKey, signal: leaving.signal });
    if (waiting === undefined) opened.push(tenantKey);
    else
      waiting.then(
        () => opened.push(tenantKey),
        (error) => refused.push(error),
      );
    return leaving;
  };
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += eventLoopLimits.watchOpens.intervalMs) {
      clock.advance(eventLoopLimits.watchOpens.intervalMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { limiter, open, opened, refused, pass, state };
}

describe("the limiter of watch opens", () => {
  it("does not limit a tenant that is alone", () => {
    const { open, opened } = limiterOf(false);
    for (let i = 0; i < burstMax * 3; i++) open("a");
    assert.equal(opened.length, burstMax * 3);
  });

  it("limits the rate after a burst while other tenants are at work", async () => {
    const { open, opened, pass } = limiterOf(true);
    for (let i = 0; i < burstMax + perSecond; i++) open("a");
    assert.equal(opened.length, burstMax);
    await pass(500);
    assert.ok(Math.abs(opened.length - burstMax - perSecond / 2) <= 5, `${opened.length}`);
    await pass(600);
    assert.equal(opened.length, burstMax + perSecond);
  });

  it("opens the few watches of one tenant before the many of another", async () => {
    const { open, opened, pass } = limiterOf(true);
    for (let i = 0; i < burstMax + 500; i++) open("many");
    open("few");
    await pass(2 * eventLoopLimits.watchOpens.intervalMs);
    assert.ok(opened.includes("few"));
  });

  it("raises the rate when the other tenants have become idle", async () => {
    const { open, opened, pass, state } = limiterOf(true);
    for (let i = 0; i < burstMax + 400; i++) open("a");
    state.isContended = false;
    await pass(100);
    assert.equal(opened.length, burstMax + 400);
  });

  it("removes clients that disconnect, and rejects requests beyond the limit of the queue", async () => {
    const { limiter, open, refused, pass } = limiterOf(true);
    for (let i = 0; i < burstMax; i++) open("a");
    const leaving = Array.from({ length: waitingPerFlowMax }, () => open("a"));
    open("a");
    await pass(0);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(refused.length, 1);
    for (const each of leaving) each.abort(new Error("gone"));
    assert.equal(limiter.waiting, 0);
  });
});
