/**
 * Goal: the program keeps the laws of placement in simulated worlds, and a seed decides what
 * happens in one. Method: scenarios in processes of their own, whose globals are simulated;
 * docs/internals/simulation.md tells how. SIMULATION_SEEDS="1 2 3" plays others.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SimulateOption } from "./main.ts";
import type { SeedReport } from "./worker.ts";

const worker = fileURLToPath(new URL("./worker.js", import.meta.url));
const seeds = (process.env["SIMULATION_SEEDS"] ?? "1 62 156 206 207 226 280 2434 2820")
  .split(" ")
  .map(Number);

async function play(seed: number, count = 1): Promise<readonly SeedReport[]> {
  // A stride of zero plays the seed again.
  const range = [seed, count, 0].map(String);
  const { stdout } = await promisify(execFile)(process.execPath, [worker, ...range]);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as SeedReport);
}

describe("simulated worlds", () => {
  it("have the same history for the same seed, in one process and in two", async () => {
    const digests = [...(await play(206, 2)), ...(await play(206))].map(({ digest }) => digest);
    assert.equal(digests.length, 3);
    assert.equal(new Set(digests).size, 1, digests.join(", "));
  });

  it("have different histories for different seeds", async () => {
    const [[one], [other]] = await Promise.all([play(206), play(207)]);
    assert.notEqual(one?.digest, other?.digest);
  });

  it("are played in several processes by one command, which prints a summary", async () => {
    const main = fileURLToPath(new URL("./main.js", import.meta.url));
    const flags: readonly `--${SimulateOption}`[] = ["--seed", "--seeds", "--jobs"];
    const args = flags.flatMap((flag, at) => [flag, ["206", "2", "2"][at] as string]);
    const { stdout } = await promisify(execFile)(process.execPath, [main, ...args]);
    assert.match(stdout, /^2 seeds in \d+ s, /m);
  });

  for (const seed of seeds)
    it(`keep every law with seed ${seed}`, async () => {
      const [report] = await play(seed);
      assert.ok(report !== undefined && report.requests > 100, "the world does nothing");
      const { law, message, steps = [] } = report;
      assert.equal(law, undefined, [message, ...steps].join("\n"));
    });
});
