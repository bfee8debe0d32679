/**
 * A process that plays scenarios: its globals are replaced, so it does nothing else. It prints one
 * line of JSON for each seed.
 *
 *     node worker.js <first seed> <seeds> <stride> [--shrink] [--verbose]
 */
import "./deterministic-globals.ts";
import { runScenario, type ScenarioResult } from "./run-scenario.ts";
import { describeStep, drawScenario, type Scenario } from "./scenario.ts";
import { Trace } from "./trace.ts";

export interface SeedReport {
  readonly seed: number;
  readonly clusters: number;
  readonly simulatedMs: number;
  readonly requests: number;
  readonly commits: number;
  readonly digest: string;
  /** Of the processor. */
  readonly tookMs: number;
  readonly law?: string;
  readonly message?: string;
  /** The steps that are needed to break the law. */
  readonly steps?: readonly string[];
}

const [first = 1, count = 1, stride = 1] = process.argv.slice(2, 5).map(Number);
const isShrinking = process.argv.includes("--shrink");
const isVerbose = process.argv.includes("--verbose");
const print = (line: string) => process.stdout.write(`${line}\n`);

for (let at = 0; at < count; at++) {
  const scenario = drawScenario(first + at * stride);
  const before = process.cpuUsage();
  const result = await play(scenario, isVerbose);
  const { broken, ...figures } = result;
  const { user, system } = process.cpuUsage(before);
  const shortest = broken === undefined || !isShrinking ? scenario : await shrink(scenario, result);
  const report: SeedReport = {
    seed: scenario.seed,
    clusters: scenario.clusters,
    ...figures,
    tookMs: Math.round((user + system) / 1000),
    ...(broken === undefined
      ? {}
      : { law: broken.law, message: broken.message, steps: shortest.steps.map(describeStep) }),
  };
  print(JSON.stringify(report));
}

function play(scenario: Scenario, isPrinted = false): Promise<ScenarioResult> {
  return runScenario(scenario, new Trace(isPrinted ? { print } : {}));
}

/** Leaves out steps, one after the other from the last, as long as the same law is broken. */
async function shrink(scenario: Scenario, { broken }: ScenarioResult): Promise<Scenario> {
  let shortest = scenario;
  for (let at = scenario.steps.length - 1; at >= 0; at--) {
    const shorter = { ...shortest, steps: shortest.steps.filter((_, index) => index !== at) };
    const result = await play(shorter).catch(() => undefined);
    if (result?.broken?.law === broken?.law) shortest = shorter;
  }
  return shortest;
}
