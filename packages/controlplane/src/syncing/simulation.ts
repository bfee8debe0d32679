/** Plays seeded histories of the syncer, one after the other. A failure says its seed and what happened. */
import type { Clock } from "@kcp-ts/machinery/base";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { History, type Stage } from "./history.ts";
import { Side } from "./side.ts";

/** On one set of servers: what earlier ones left behind makes later ones slower. */
const perStage = 10;

export async function playHistories(count: number, firstSeed: number): Promise<void> {
  for (let done = 0; done < count; done += perStage) {
    const last = firstSeed + Math.min(count, done + perStage);
    await withStage(async (stage) => {
      for (let seed = firstSeed + done; seed < last; seed++) await play(stage, seed);
    });
  }
}

const hourMs = 3_600_000;

function skewed(clock: Clock, byMs: number): Clock {
  return {
    now: () => clock.now() + byMs,
    monotonic: () => clock.monotonic(),
    schedule: (delayMs, callback) => clock.schedule(delayMs, callback),
  };
}

async function play(stage: Stage, seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const history = new History(stage, random);
  try {
    await history.play(10 + random.integer(25));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`seed ${seed}: ${text}\n${history.log.join("\n")}`, { cause: error });
  } finally {
    await history.stop();
  }
}

async function withStage(body: (stage: Stage) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  // Clocks that differ: what a server writes down as its time is compared with no other's.
  const up = await Side.start(clock);
  const east = await Side.start(skewed(clock, -5 * hourMs));
  const west = await Side.start(skewed(clock, 7 * hourMs));
  const down = new Map([
    ["east", east],
    ["west", west],
  ]);
  try {
    await body({ clock, up, down });
  } finally {
    const closing = Promise.all([up, east, west].map((side) => side.close()));
    await clock.advanceAndSettle(60_000);
    await closing;
  }
}
