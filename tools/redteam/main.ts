/**
 * Attacks a server for a number of seconds, and reports the request that held its event loop
 * longest and the request that took most memory.
 *
 *     npm run redteam -- --seconds 3600 [--seed 1] [--only roles]
 *
 * `KCP_REDTEAM_SECONDS` and `KCP_REDTEAM_SEED` set the same options. The exit code is 1 when a
 * request exceeds a limit, or when the objects of the bystander changed. A request that holds the
 * event loop too long counts when it does so again in one of three repetitions of its attack, or
 * when it exceeds five times the limit.
 * `--seconds 0` with the seed of a reported request repeats its attack, and nothing else.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  holdMaxMs,
  type MeasuredStep,
  peakBytesMax,
  runCampaign,
  unrepeatedHoldMaxMs,
} from "./campaign.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: process.env["KCP_REDTEAM_SECONDS"] ?? "60" },
    seed: { type: "string", default: process.env["KCP_REDTEAM_SEED"] ?? "1" },
    only: { type: "string", multiple: true, default: [] },
    verbose: { type: "boolean", default: false },
  },
});

const directory = mkdtempSync(join(tmpdir(), "redteam-"));
const seed = Number(values.seed);
try {
  const result = await runCampaign({
    directory,
    seed,
    seconds: Number(values.seconds),
    only: values.only,
    onStep: (step) => {
      if (values.verbose || step.holdMs > holdMaxMs || step.peakBytes > peakBytesMax) report(step);
    },
  });
  const { attacks, steps, longest, largest, beyond, unrepeated, bystanderChanges } = result;
  const longestOnce = unrepeated.toSorted((one, other) => other.holdMs - one.holdMs)[0];
  process.stdout.write(
    `seed ${seed}: ${steps} requests of ${attacks} attacks, ${beyond.length} beyond a bound, ${unrepeated.length} once and in no repetition\n`,
  );
  for (const [what, step] of [
    ["longest", longest],
    ["largest", largest],
    ["longest in no repetition", longestOnce],
  ] as const) {
    if (step === undefined) continue;
    process.stdout.write(`${what}: `);
    report(step);
  }
  const changes = bystanderChanges.map((change) => `\n  ${change}`).join("");
  process.stdout.write(`bystander: ${changes === "" ? "unchanged" : `CHANGED${changes}`}\n`);
  const isFailed = beyond.length > 0 || (longestOnce?.holdMs ?? 0) > unrepeatedHoldMaxMs;
  if (isFailed || bystanderChanges.length > 0) process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function report(step: MeasuredStep): void {
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const { collections } = step;
  const collected = step.holdMs > holdMaxMs / 2 && collections.length > 0;
  process.stdout.write(
    `${step.holdMs.toFixed(1)} ms, ${mebibytes(step.peakBytes)} (${mebibytes(step.keptBytes)} kept): ${step.attack}, seed ${step.seed}, request ${step.index}: ${step.status} ${step.request}${step.refusal === "" ? "" : ` (${step.refusal})`}${collected ? `; collections: ${collections.join(", ")}` : ""}\n`,
  );
}
