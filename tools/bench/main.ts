/**
 * The benchmark: `npm run bench`. What is measured, why, and what came out is in
 * docs/internals/performance.md.
 *
 *     npm run bench -- [get create neighbours] [--only get,create] [--rounds N] [--quick] [-o json] [--generator h2load|node]
 *                      [--target name=URL,TOKEN ...] [--workspaces N]
 *     npm run bench -- holds [--cases "apply: a map list" ...]
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { accessRows } from "./access-rows.ts";
import { applyRows } from "./apply-rows.ts";
import { endChildren } from "./child.ts";
import { consumerRows } from "./consumer-rows.ts";
import { type Bench, Contest } from "./contest.ts";
import { crdRows } from "./crd-rows.ts";
import { holdRows } from "./hold-rows.ts";
import { listRows } from "./list-rows.ts";
import { chooseGenerator } from "./load.ts";
import { loopsRows } from "./loops-rows.ts";
import { loadedMemoryRow, memoryRows } from "./memory-rows.ts";
import { movesRows } from "./moves-rows.ts";
import { nativeRows } from "./native-rows.ts";
import { noisyTenantRows } from "./neighbour-rows.ts";
import { type BenchOptions, type Group, groups, parseOptions } from "./options.ts";
import { packageRows } from "./package-rows.ts";
import { placementRows } from "./placement-rows.ts";
import { Report, tableHeader, tableLine } from "./report.ts";
import { createRows, getRows, latencyRows } from "./request-rows.ts";
import { restRows } from "./rest-rows.ts";
import { scaleRows } from "./scale-rows.ts";
import { informerRows, sdkRows } from "./sdk-rows.ts";
import { startRows } from "./start-rows.ts";
import { syncingMemoryRows, syncingRows } from "./syncing-rows.ts";
import { tunnelRows } from "./tunnel-rows.ts";
import { watchRows } from "./watch-rows.ts";
import { workspaceRows } from "./workspace-rows.ts";

const requestGroups: readonly [Group, (bench: Bench, contest: Contest) => Promise<void>][] = [
  ["get", getRows],
  ["create", createRows],
  ["latency", latencyRows],
  ["apply", applyRows],
  ["list", listRows],
  ["watch", watchRows],
  ["memory", loadedMemoryRow],
];

try {
  await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(options: BenchOptions): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "kcp-bench-"));
  const isTable = options.output === "table";
  try {
    const { name, generate } = await chooseGenerator(options.generator, directory);
    const machine = describeMachine(name);
    if (isTable) console.log(`${Object.values(machine).join(", ")}\n\n${tableHeader()}`);
    const report = new Report((row) => isTable && console.log(tableLine(row)));
    await run({ options, generate, directory, report });
    if (!isTable) console.log(JSON.stringify({ machine, rows: report.rows }, undefined, 2));
  } finally {
    await endChildren();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function run(bench: Bench): Promise<void> {
  const { only } = bench.options;
  const chosen = new Set<Group>(only.length === 0 ? groups : only);
  const requested = requestGroups.filter(([group]) => chosen.has(group));
  // Memory after the load is of interest only behind some load.
  if (requested.some(([group]) => group !== "memory")) {
    const contest = await Contest.open(bench);
    try {
      for (const [, rows] of requested) await rows(bench, contest);
    } finally {
      await contest.close();
    }
  }
  if (chosen.has("scale")) await scaleRows(bench);
  if (chosen.has("access")) await accessRows(bench);
  if (chosen.has("start")) await startRows(bench);
  if (chosen.has("memory")) await memoryRows(bench);
  if (chosen.has("neighbours")) await noisyTenantRows(bench);
  if (chosen.has("loops")) await loopsRows(bench);
  if (chosen.has("holds")) await holdRows(bench);
  if (chosen.has("crds")) await crdRows(bench);
  if (chosen.has("natives")) await nativeRows(bench);
  if (chosen.has("workspaces")) await workspaceRows(bench);
  if (chosen.has("consumers")) await consumerRows(bench);
  if (chosen.has("informers")) await informerRows(bench);
  if (chosen.has("sdk")) {
    await packageRows(bench);
    await sdkRows(bench);
  }
  if (chosen.has("syncing")) await syncingRows(bench);
  if (chosen.has("syncing-memory")) await syncingMemoryRows(bench);
  if (chosen.has("tunnel")) await tunnelRows(bench);
  if (chosen.has("moves")) await movesRows(bench);
  if (chosen.has("placement")) placementRows(bench);
  if (chosen.has("rest")) await restRows(bench);
}

function describeMachine(generator: string) {
  const processors = cpus();
  return {
    processor: `${processors.length} x ${processors[0]?.model ?? "unknown"}`,
    node: `Node ${process.version}`,
    commit: `commit ${commitOf()}`,
    generator: `load by ${generator}`,
    loadAverage: `load average before ${(loadavg()[0] ?? 0).toFixed(2)}`,
  };
}

function commitOf(): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown (not a checkout)";
  }
}
