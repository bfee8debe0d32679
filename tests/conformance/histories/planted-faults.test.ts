/**
 * The histories find bugs: each kind, planted into the store below a real server, is found within a
 * few of them.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type HistoryEnvironment, openEnvironment } from "./environment.ts";
import { emptySummary, prepareEnvironment, runRound } from "./run-histories.ts";
import { type SeededBug, seededBugs } from "./seeded-bug-storage.ts";

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
const timeoutMs = 1500;

describe("histories of a server with a bug", () => {
  let environment: HistoryEnvironment;
  let seed = 1;
  before(async () => {
    environment = await openEnvironment("memory", true);
    await prepareEnvironment(environment);
  });
  after(() => environment.close());

  for (const seededBug of seededBugs) {
    it(`show the bug: ${seededBug}`, async () => {
      const [server] = environment.servers;
      await server?.sendCommand({ kind: "plant", seededBug });
      try {
        const found = await findings(foundAs[seededBug]);
        assert.ok(found > 0, `nothing shows a ${seededBug} in ${roundsMax} rounds`);
      } finally {
        await server?.sendCommand({ kind: "plant", seededBug: undefined });
      }
    });
  }

  /** How many of the violations of the first round with some are of the kind. */
  async function findings(kind: RegExp): Promise<number> {
    for (let round = 0; round < roundsMax; round++) {
      const { findings: found } = await runRound(
        environment,
        { seed: seed++, count: 6, timeoutMs },
        emptySummary(),
      );
      const violations = found.flatMap((finding) => finding.violations);
      const told = violations.filter(({ guarantee }) => kind.test(guarantee));
      if (told.length > 0) return told.length;
    }
    return 0;
  }
});
