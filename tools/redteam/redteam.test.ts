/**
 * The red team for a few seconds, or for `KCP_REDTEAM_SECONDS`: no request of a hostile tenant
 * exceeds a limit, and the objects of a bystander stay.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  allAttacks,
  holdMaxMs,
  peakBytesMax,
  runCampaign,
  unrepeatedHoldMaxMs,
} from "./campaign.ts";

const seconds = Number(process.env["KCP_REDTEAM_SECONDS"] ?? "8");
/**
 * Beside other tests, the processor time of a thread is a multiple of what it is alone, because
 * caches are cold in every turn. `KCP_REDTEAM_SECONDS` asks for the limits themselves, as
 * `npm run redteam` does.
 */
const crowding = process.env["KCP_REDTEAM_SECONDS"] === undefined ? 4 : 1;
const seed = Number(process.env["KCP_REDTEAM_SEED"] ?? "1");

describe("a hostile tenant", () => {
  it("has attacks of different names", () => {
    assert.equal(new Set(allAttacks.map(({ name }) => name)).size, allAttacks.length);
  });

  it("stays within the limits of event loop and memory, and changes no bystander", async (t) => {
    if (process.platform !== "linux") return t.skip("the kernel's figures are those of Linux");
    const directory = mkdtempSync(join(tmpdir(), "redteam-"));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const result = await runCampaign({ directory, seed, seconds });
    assert.ok(result.steps > 0);
    assert.deepEqual(result.bystanderChanges, []);
    const beyond = result.beyond.filter(
      ({ holdMs, peakBytes }) =>
        holdMs > holdMaxMs * crowding || peakBytes > peakBytesMax * crowding,
    );
    assert.deepEqual(beyond, [], `seed ${seed}`);
    const once = result.unrepeated.filter(({ holdMs }) => holdMs > unrepeatedHoldMaxMs * crowding);
    assert.deepEqual(once, [], `seed ${seed}`);
    const shown = ({ longest, largest }: typeof result) =>
      `${longest?.holdMs.toFixed(1)} of ${holdMaxMs} ms, ${((largest?.peakBytes ?? 0) / 2 ** 20).toFixed(1)} of ${peakBytesMax >> 20} MiB`;
    t.diagnostic(
      `seed ${seed}: ${result.steps} requests, at most ${shown(result)}; ${result.unrepeated.length} in no repetition`,
    );
  });
});
