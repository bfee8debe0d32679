/**
 * Goal: the program keeps the laws of placement in simulated systems, and a seed decides what
 * happens in one. Method: scenarios in processes of their own, whose globals are simulated;
 * docs/internals/simulation.md tells how. SIMULATION_SEEDS="1 2 3" plays others.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SimulateOption } from "./main.ts";
import { plantedDefects } from "./planted-defects.ts";
import type { SeedReport } from "./worker.ts";

const worker = fileURLToPath(new URL("./worker.js", import.meta.url));
const seeds = (process.env["SIMULATION_SEEDS"] ?? "1 62 156 226 2820 20007 20011")
  .split(" ")
  .map(Number);

/** Plays them in one process. */
async function play(
  ...plays: readonly (number | `${number}:${string}`)[]
): Promise<readonly SeedReport[]> {
  const args = [worker, `--play=${plays.join()}`];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as SeedReport);
}

describe("simulated systems", () => {
  it("have the same history for the same seed, in one process and in two", async () => {
    const digests = [...(await play(206, 206)), ...(await play(206))].map(({ digest }) => digest);
    assert.equal(digests.length, 3);
    assert.equal(new Set(digests).size, 1, digests.join(", "));
  });

  it("have different histories for different seeds", async () => {
    const [one, other] = await play(206, 207);
    assert.notEqual(one?.digest, other?.digest);
  });

  it("are played in several processes by one command, which prints a summary", async () => {
    const main = fileURLToPath(new URL("./main.js", import.meta.url));
    const flags: readonly `--${SimulateOption}`[] = ["--seed", "--seeds", "--jobs"];
    const args = flags.flatMap((flag, at) => [flag, ["206", "2", "2"][at] as string]);
    const { stdout } = await promisify(execFile)(process.execPath, [main, ...args]);
    assert.match(stdout, /^2 seeds in \d+ s, /m);
  });

  it("keep every law", async () => {
    for (const { seed, requests, law, message, steps = [] } of await play(...seeds)) {
      assert.ok(requests > 100, `nothing happens with seed ${seed}`);
      assert.equal(law, undefined, [`seed ${seed}: ${message}`, ...steps].join("\n"));
    }
  });

  it("break the law that a planted defect is against, and no law without it", async () => {
    const defects = Object.entries(plantedDefects);
    const withDefects = await play(
      ...defects.map(([name, { seed }]) => `${seed}:${name}` as const),
    );
    const without = await play(...defects.map(([, { seed }]) => seed));
    for (const [at, [name, { law }]] of defects.entries()) {
      assert.equal(withDefects[at]?.law, law, `${name}: ${withDefects[at]?.message}`);
      assert.equal(without[at]?.law, undefined, without[at]?.message);
    }
  });
});
