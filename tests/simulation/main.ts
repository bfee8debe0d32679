/**
 * Plays many scenarios, in a process for each core, and prints the laws that they break.
 *
 *     npm run simulate -- --seeds 10000 [--seed 1] [--jobs 2] [--shrink] [--verbose]
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "@kcp-ts/machinery/base";
import type { SeedReport } from "./worker.ts";

const options = {
  seed: { type: "string", default: "1" },
  seeds: { type: "string", default: "1" },
  jobs: { type: "string", default: String(availableParallelism()) },
  shrink: { type: "boolean", default: false },
  verbose: { type: "boolean", default: false },
} as const;
export type SimulateOption = keyof typeof options;

const { values } = parseArgs({ options });
const first = Number(values.seed);
const seeds = Number(values.seeds);
const jobs = Math.max(1, Math.min(Number(values.jobs), seeds));
const beganAtMs = systemClock.monotonic();
const worker = fileURLToPath(new URL("./worker.js", import.meta.url));
const flags = [values.shrink ? "--shrink" : "", values.verbose ? "--verbose" : ""].filter(Boolean);
/** Worlds are short-lived garbage: a larger young generation collects them at once. */
const nodeFlags = ["--max-semi-space-size=64"];
const seedsPerProcess = 500;

let played = 0;
let simulatedMs = 0;
let processorMs = 0;
const brokenSeeds = new Map<string, number[]>();

const codes = await Promise.all(Array.from({ length: jobs }, (_, job) => runJob(job)));

const seconds = (systemClock.monotonic() - beganAtMs) / 1000;
console.log(
  `${played} seeds in ${seconds.toFixed(0)} s, ${(simulatedMs / 3_600_000).toFixed(1)} simulated hours, ${Math.round(processorMs / Math.max(1, played))} ms of processor time each`,
);
for (const [law, broken] of brokenSeeds)
  console.log(`  "${law}": ${broken.length} seeds (${broken.slice(0, 10).join(", ")})`);
process.exitCode = brokenSeeds.size > 0 || codes.some((code) => code !== 0) ? 1 : 0;

/** Plays every `jobs`-th seed. What a process keeps of its systems goes when it ends. */
async function runJob(job: number): Promise<number | null> {
  const count = Math.ceil((seeds - job) / jobs);
  for (let at = 0; at < count; at += seedsPerProcess) {
    const code = await runProcess(first + job + at * jobs, Math.min(seedsPerProcess, count - at));
    if (code !== 0) return code;
  }
  return 0;
}

async function runProcess(from: number, count: number): Promise<number | null> {
  const range = [from, count, jobs].map(String);
  const child = spawn(process.execPath, [...nodeFlags, worker, ...range, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  for await (const line of createInterface({ input: child.stdout })) take(line);
  return ended;
}

function take(line: string): void {
  if (!line.startsWith("{")) {
    console.log(line);
    return;
  }
  const report = JSON.parse(line) as SeedReport;
  played++;
  simulatedMs += report.simulatedMs;
  processorMs += report.tookMs;
  const { seed, law, message, steps = [], clusters, requests, commits, digest, tookMs } = report;
  if (law === undefined && seeds > 20) return;
  console.log(
    `seed ${seed}: ${clusters} clusters, ${(report.simulatedMs / 1000).toFixed(0)} s, ${requests} requests, ${commits} commits, ${digest}, ${tookMs} ms`,
  );
  if (law === undefined) return;
  brokenSeeds.set(law, [...(brokenSeeds.get(law) ?? []), seed]);
  console.log(`  law "${law}": ${message}`);
  for (const step of steps) console.log(`    ${step}`);
}
