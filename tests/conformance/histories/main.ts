/**
 * Runs many histories and prints what was found:
 *
 *     node tests/dist/conformance/histories/main.js --config embedded --histories 1000 --seed 1
 *
 * `--config all` takes every configuration, `--plant "lost event"` a server with that bug.
 */
import { parseArgs } from "node:util";
import { systemClock } from "@kcp-ts/machinery/base";
import { etcdMissing } from "@kcp-ts/testkit";
import { type Configuration, configurations } from "./environment.ts";
import { findingText, summaryText } from "./findings.ts";
import { runHistories } from "./run-histories.ts";
import { type SeededBug, seededBugs } from "./seeded-bug-storage.ts";

const { values } = parseArgs({
  options: {
    config: { type: "string", default: "all" },
    histories: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    together: { type: "string", default: "8" },
    plant: { type: "string" },
  },
});

const chosen = configurations.filter((name) => values.config === "all" || values.config === name);
if (chosen.length === 0) throw new Error(`--config is one of all, ${configurations.join(", ")}`);
if (values.plant !== undefined && !seededBugs.includes(values.plant as SeededBug)) {
  throw new Error(`--plant is one of ${seededBugs.join(", ")}`);
}
for (const configuration of chosen) await run(configuration);
// Not by itself: Node waits for ever, now and then, for handles that it closes when its loop is
// empty.
process.exit();

async function run(configuration: Configuration): Promise<void> {
  const missing = configuration.startsWith("etcd") ? etcdMissing() : undefined;
  if (missing !== undefined) throw new Error(missing);
  const startedAt = systemClock.monotonic();
  const summary = await runHistories({
    configuration,
    seed: Number(values.seed),
    histories: Number(values.histories),
    concurrency: Number(values.together),
    seededBug: values.plant as SeededBug | undefined,
    onRound: ({ histories, findings }, round) => {
      for (const finding of round.findings) say(findingText(configuration, finding));
      const seconds = ((systemClock.monotonic() - startedAt) / 1000).toFixed(0);
      const progress = `${histories} histories, ${findings.length} with violations, ${seconds} s`;
      say(`${configuration} seed ${round.seed} [${round.faults.join("; ")}]: ${progress}`);
    },
  });
  const seconds = (systemClock.monotonic() - startedAt) / 1000;
  say(summaryText(configuration, summary, seconds));
  if (summary.findings.length > 0) process.exitCode = 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
