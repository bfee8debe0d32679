/**
 * Goal: whatever happens between a control plane and its clusters, nothing is deleted without a
 * wish for it, tenants do not meet, both sides agree in the end, and then there is silence. Method:
 * seeded random histories on a clock that stands still; a failure prints its seed and what
 * happened.
 *
 * `KCP_HISTORIES=2000` plays that many of them, `KCP_SEED=17 KCP_HISTORIES=1` one of them again.
 */
import { describe, it } from "node:test";
import { runSyncHistories } from "./run-sync-histories.ts";

const histories = Number(process.env["KCP_HISTORIES"] ?? 40);
const seed = Number(process.env["KCP_SEED"] ?? 1);

describe("the syncer in random histories", () => {
  it(`keeps its promises in ${histories} of them, from seed ${seed}`, async () => {
    await runSyncHistories(histories, seed);
  });
});
