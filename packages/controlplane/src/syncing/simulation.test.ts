/**
 * Goal: whatever happens between a control plane and its clusters, nothing is deleted without a wish for it, tenants do not meet, both sides agree in the end, and then
 * there is silence. Method: seeded random histories on a clock that stands still; a failure prints its seed and what happened.
 *
 * HISTORIES=2000 SEED=1 runs more of them, from a seed.
 */
import { describe, it } from "node:test";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { History, type Stage } from "./history.ts";
import { Side } from "./side.ts";

const histories = Number(process.env["HISTORIES"] ?? 200);
const firstSeed = Number(process.env["SEED"] ?? 1);
/** On one pair of servers: what earlier ones left behind makes later ones slower. */
const perStage = 10;

describe("the syncer in random histories", () => {
  it(`keeps its promises in ${histories} of them, from seed ${firstSeed}`, {
    timeout: 600_000,
  }, async () => {
    for (let done = 0; done < histories; done += perStage) {
      const count = Math.min(perStage, histories - done);
      await withStage(async (stage) => {
        for (let seed = firstSeed + done; seed < firstSeed + done + count; seed++) {
          await play(stage, seed);
        }
      });
    }
  });
});

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
  const up = await Side.start(clock);
  const east = await Side.start(clock);
  const west = await Side.start(clock);
  try {
    await body({
      clock,
      up,
      down: new Map([
        ["east", east],
        ["west", west],
      ]),
    });
  } finally {
    const closing = Promise.all([up, east, west].map((side) => side.close()));
    await clock.advanceAndSettle(60_000);
    await closing;
  }
}
