/** The red team for a few seconds, `KCP_REDTEAM_SECONDS` for longer: no request goes beyond a bound, and a bystander keeps what it has. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { allAttacks, holdMaxMs, peakBytesMax, runCampaign } from "./campaign.ts";

const seconds = Number(process.env["KCP_REDTEAM_SECONDS"] ?? "8");
/**
 * Beside all other tests a thread's own processor time is a multiple of what it is alone: caches are cold in every turn. Whoever asks for
 * a time of his own means the bounds as they are, as `npm run redteam` does.
 */
const crowding = process.env["KCP_REDTEAM_SECONDS"] === undefined ? 4 : 1;
const seed = Number(process.env["KCP_REDTEAM_SEED"] ?? "1");

describe("a hostile tenant", () => {
  it("has attacks of different names", () => {
    assert.equal(new Set(allAttacks.map(({ name }) => name)).size, allAttacks.length);
  });

  it("neither holds the event loop nor takes memory beyond the bounds, nor changes what others have", async (t) => {
    if (process.platform !== "linux") return t.skip("the kernel's figures are those of Linux");
    const directory = mkdtempSync(join(tmpdir(), "redteam-"));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const result = await runCampaign({ directory, seed, seconds });
    assert.ok(result.steps > 0);
    assert.ok(result.isBystanderUnchanged);
    const beyond = result.beyond.filter(
      ({ holdMs, peakBytes }) =>
        holdMs > holdMaxMs * crowding || peakBytes > peakBytesMax * crowding,
    );
    assert.deepEqual(beyond, [], `seed ${seed}`);
  });
});
