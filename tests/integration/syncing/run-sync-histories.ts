/**
 * Plays seeded histories of the syncer, one after the other. A failure says its seed and what
 * happened.
 */
import assert from "node:assert/strict";
import type { Clock } from "@kcp-ts/machinery/base";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { FaultyServer } from "./faulty-server.ts";
import { SyncHistory, type SyncHistoryServers } from "./sync-history.ts";

/**
 * Every history has servers of its own, and all chance from its seed: played again, it is the same.
 */
export async function runSyncHistories(count: number, firstSeed: number): Promise<void> {
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const random = new SeededRandom(seed);
    await withStage(random, (stage) => play(new SyncHistory(stage, random), random));
  }
}

/** Of syncers to one server in one history; the most that was seen is a tenth of it. */
const writesMax = 5000;
const hourMs = 3_600_000;

function skewed(clock: Clock, byMs: number): Clock {
  return {
    now: () => clock.now() + byMs,
    monotonic: () => clock.monotonic(),
    schedule: (delayMs, callback) => clock.schedule(delayMs, callback),
  };
}

async function play(history: SyncHistory, random: SeededRandom): Promise<void> {
  try {
    await history.run(10 + random.integer(25));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`seed ${random.seed}: ${text}\n${history.log.join("\n")}`, { cause: error });
  } finally {
    await history.stop();
  }
}

async function withStage(
  random: SeededRandom,
  body: (syncHistoryServers: SyncHistoryServers) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  // Clocks that differ: what a server writes down as its time is compared with no other's.
  const up = await FaultyServer.start(clock, random.fork());
  const east = await FaultyServer.start(skewed(clock, -5 * hourMs), random.fork());
  const west = await FaultyServer.start(skewed(clock, 7 * hourMs), random.fork());
  const down = new Map([
    ["east", east],
    ["west", west],
  ]);
  for (const side of [up, east, west]) side.writesMax = writesMax;
  try {
    await body({ clock, up, down });
    for (const { writes } of [up, east, west]) {
      const last = writes.slice(-3).join("\n");
      assert.ok(writes.length < writesMax, `seed ${random.seed}: writes without end:\n${last}`);
    }
  } finally {
    const closing = Promise.all([up, east, west].map((side) => side.close()));
    await clock.advanceAndFlush(60_000);
    await closing;
  }
}
