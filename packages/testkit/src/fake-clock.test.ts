import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runYielding, sleep, systemClock } from "@kcp-ts/machinery/base";
import { FakeClock, flushEventLoop } from "./fake-clock.ts";
import { SeededRandom } from "./seeded-random.ts";

describe("FakeClock", () => {
  it("fires timers in due order, shows each its due time, and stops at the target", () => {
    const clock = new FakeClock();
    const fired: [string, number][] = [];
    const note = (name: string) => () => fired.push([name, clock.monotonic()]);
    clock.schedule(20, note("b"));
    clock.schedule(10, () => {
      note("a")();
      clock.schedule(5, note("made on the way"));
    });
    clock.schedule(20, note("c"));
    clock.schedule(21, note("later"));
    clock.advance(20);
    assert.deepEqual(fired, [
      ["a", 10],
      ["made on the way", 15],
      ["b", 20],
      ["c", 20],
    ]);
    assert.equal(clock.monotonic(), 20);
    assert.equal(clock.pendingTimers, 1);
  });

  it("never fires a cancelled timer", () => {
    const clock = new FakeClock();
    clock.schedule(1, () => assert.fail("fired")).cancel();
    clock.advance(10);
    assert.equal(clock.pendingTimers, 0);
  });

  it("runs a chain of sleeps to its end when it settles between timers", async () => {
    const clock = new FakeClock();
    let rounds = 0;
    void (async () => {
      for (; rounds < 10; rounds++) await sleep(clock, 100);
    })();
    await clock.advanceAndFlush(950);
    assert.equal(rounds, 9);
  });

  it("fires timers late that were due while the process was stopped", () => {
    const clock = new FakeClock();
    let firedAtMs: number | undefined;
    clock.schedule(10, () => {
      firedAtMs = clock.monotonic();
    });
    clock.stall(100);
    assert.equal(firedAtMs, undefined);
    clock.advance(1);
    assert.deepEqual([firedAtMs, clock.monotonic()], [100, 101]);
  });

  it("moves the wall clock without moving monotonic time", () => {
    const clock = new FakeClock(1000);
    clock.jumpWall(-500);
    assert.equal(clock.now(), 500);
    assert.equal(clock.monotonic(), 0);
  });
});

describe("flushEventLoop", () => {
  it("waits for resumable work that takes many turns, and for its continuations", async () => {
    let isDone = false;
    const work = runYielding(piecesOf(40)).then(async () => {
      await flushEventLoop(1);
      isDone = true;
    });
    await flushEventLoop();
    assert.ok(isDone);
    await work;
  });
});

/** Work that yields after every millisecond, so that a turn has room for few of its pieces. */
function* piecesOf(milliseconds: number): Generator<void, void, void> {
  for (let piece = 0; piece < milliseconds; piece++) {
    const startedAt = systemClock.monotonic();
    while (systemClock.monotonic() - startedAt < 1);
    yield;
  }
}

describe("SeededRandom", () => {
  it("repeats itself for one seed and differs between seeds", () => {
    const draw = (seed: number) => {
      const random = new SeededRandom(seed);
      return Array.from({ length: 20 }, () => random.next());
    };
    assert.deepEqual(draw(7), draw(7));
    assert.notDeepEqual(draw(7), draw(8));
  });

  it("spreads over [0, 1)", () => {
    const random = new SeededRandom(1);
    const buckets = new Array<number>(10).fill(0);
    for (let i = 0; i < 10_000; i++) {
      const at = random.integer(10);
      buckets[at] = (buckets[at] ?? 0) + 1;
    }
    for (const count of buckets) assert.ok(count > 850 && count < 1150, `bucket of ${count}`);
  });
});
