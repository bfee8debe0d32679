/**
 * A process that plays scenarios: its globals are replaced, so it does nothing else. It prints one
 * line of JSON for each seed.
 *
 *     node worker.js <first seed> <seeds> <stride> [--shrink] [--verbose]
 *     node worker.js --play=<seed>,<seed>:<planted defect> [--shrink] [--verbose]
 */
import "./deterministic-globals.ts";
import { type DefectName, type PlantedDefect, plantedDefects } from "./planted-defects.ts";
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

/** A seed, and the defect that its system gets. */
interface Play {
  readonly seed: number;
  readonly defect?: PlantedDefect | undefined;
}

const isShrinking = process.argv.includes("--shrink");
const isVerbose = process.argv.includes("--verbose");
const print = (line: string) => process.stdout.write(`${line}\n`);

for (const { seed, defect } of playsOf(process.argv.slice(2))) {
  const scenario = drawScenario(seed);
  const before = process.cpuUsage();
  const result = await play(scenario, defect, isVerbose);
  const { broken, ...figures } = result;
  const { user, system } = process.cpuUsage(before);
  const shortest =
    broken === undefined || !isShrinking ? scenario : await shrink(scenario, result, defect);
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

function playsOf([range = "1", count = "1", stride = "1"]: readonly string[]): Play[] {
  if (!range.startsWith("--play="))
    return Array.from({ length: Number(count) }, (_, at) => ({
      seed: Number(range) + at * Number(stride),
    }));
  return range
    .slice("--play=".length)
    .split(",")
    .map((one) => {
      const [seed, name] = one.split(":");
      const defect = name === undefined ? undefined : plantedDefects[name as DefectName];
      if (name !== undefined && defect === undefined) throw new Error(`no defect "${name}"`);
      return { seed: Number(seed), defect };
    });
}

function play(
  scenario: Scenario,
  defect: PlantedDefect | undefined,
  isPrinted = false,
): Promise<ScenarioResult> {
  return runScenario(scenario, new Trace(isPrinted ? { print } : {}), defect);
}

/** Leaves out steps, one after the other from the last, as long as the same law is broken. */
async function shrink(
  scenario: Scenario,
  { broken }: ScenarioResult,
  defect: PlantedDefect | undefined,
): Promise<Scenario> {
  let shortest = scenario;
  for (let at = scenario.steps.length - 1; at >= 0; at--) {
    const shorter = { ...shortest, steps: shortest.steps.filter((_, index) => index !== at) };
    const result = await play(shorter, defect).catch(() => undefined);
    if (result?.broken?.law === broken?.law) shortest = shorter;
  }
  return shortest;
}
