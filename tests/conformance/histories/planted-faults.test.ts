/** The histories find bugs: each kind, planted into the store below a real server, is found within a few of them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type SeededBug, seededBugs } from "./planted-storage.ts";
import { emptySummary, prepareEnvironment, runRound } from "./run-histories.ts";
import { type HistoryEnvironment, openEnvironment } from "./stage.ts";

/** What may say so, in the words of the checkers. */
const foundAs: Readonly<Record<SeededBug, RegExp>> = {
  "lost event": /reliable|resumable|bookmarkable|snapshot/,
  "duplicated event": /ordered|unique/,
  "reordered events": /ordered|reliable|bookmarkable|snapshot/,
  "event with an older value": /atomic/,
  "wrong previous value": /previous value/,
  "event of another cluster": /isolation|atomic/,
  "early progress": /bookmarkable|snapshot|linearizable|reliable/,
  "stale get": /linearizable/,
  "stale list": /snapshot|linearizable/,
  "torn list": /snapshot|linearizable/,
  "lost acknowledged write": /linearizable|atomic|reliable/,
  "forgotten precondition": /linearizable/,
};

const roundsMax = 12;
/** What a bug has lost never comes. */
const patienceMs = 1500;

describe("histories of a server with a bug", () => {
  let stage: HistoryEnvironment;
  let seed = 1;
  before(async () => {
    stage = await openEnvironment("memory", true);
    await prepareEnvironment(stage);
  });
  after(() => stage.close());

  for (const plant of seededBugs) {
    it(`show the bug: ${plant}`, async () => {
      const [server] = stage.servers;
      await server?.tell({ kind: "plant", plant });
      try {
        const found = await findings(foundAs[plant]);
        assert.ok(found > 0, `nothing shows a ${plant} in ${roundsMax} rounds`);
      } finally {
        await server?.tell({ kind: "plant", plant: undefined });
      }
    });
  }

  /** How many of the violations of the first round with some are of the kind. */
  async function findings(kind: RegExp): Promise<number> {
    for (let round = 0; round < roundsMax; round++) {
      const { findings: found } = await runRound(
        stage,
        { seed: seed++, count: 6, patienceMs },
        emptySummary(),
      );
      const violations = found.flatMap((finding) => finding.violations);
      const told = violations.filter(({ guarantee }) => kind.test(guarantee));
      if (told.length > 0) return told.length;
    }
    return 0;
  }
});
