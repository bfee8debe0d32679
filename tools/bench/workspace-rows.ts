/**
 * Workspaces: how fast they come and go, flat below root and in a tree; what one costs in memory
 * and on disk; and what a server with very many of them is like: its memory, its gets, its metrics,
 * its next start. The last part is drawn as a plot.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import { memberOf } from "./member.ts";
import { configMap, configMapsPath } from "./objects.ts";
import { cpuMicrosOf, residentMegabytesOf, unmappedMegabytesOf } from "./process-figures.ts";
import { against } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";
import { captionOf, mediumOf } from "./workspace-caption.ts";
import {
  comeAndGo,
  deleteTops,
  flat,
  makeAll,
  tree,
  workspacesPath,
  writersAtOnce,
} from "./workspace-load.ts";
import { type WorkspaceSample, workspacePlot } from "./workspace-plot.ts";

const committedPlot = fileURLToPath(
  new URL("../../../docs/internals/workspaces.svg", import.meta.url),
);

export async function workspaceRows(bench: Bench): Promise<void> {
  const { workspaces, manyWorkspaces } = bench.options.sizes;
  await comingAndGoing(bench, workspaces);
  await veryMany(bench, manyWorkspaces);
}

async function comingAndGoing(bench: Bench, count: number): Promise<void> {
  const { settleMs, quietMs, warmUpWorkspaces } = bench.options.sizes;
  const root = join(bench.directory, "workspaces");
  const server = await ServerProcess.start(root);
  const client = await memberOf(server);
  const quiet = () => sleep(systemClock, quietMs);
  try {
    await sleep(systemClock, settleMs);
    // What is compiled and learnt when the first ones come and go is no workspace's, and stays.
    await comeAndGo(client, flat(warmUpWorkspaces, "warm-up"));
    await quiet();
    for (const [work, places] of [
      ["flat", flat(count, "flat")],
      ["in a tree", tree(count)],
    ] as const) {
      const before = footprintOf(server, root);
      const made = await timed(server, () => makeAll(client, places));
      rateRow(bench, `workspaces to Ready, ${work}, ${count}`, count, made);
      costRows(bench, `of a workspace, ${work}`, { count, before, now: footprintOf(server, root) });
      await quiet();
      const now = footprintOf(server, root);
      costRows(bench, `of a workspace, ${work}, when quiet`, { count, before, now });
      const gone = await timed(server, () => deleteTops(client, places));
      rateRow(bench, `workspaces deleted, ${work}, ${count}`, count, gone);
      givenBackRows(bench, `memory after deletion, ${work}`, server, before);
      await quiet();
      givenBackRows(bench, `memory after deletion, ${work}, when quiet`, server, before);
    }
  } finally {
    client.close();
    await server.stop();
  }
}

interface Footprint {
  readonly residentMegabytes: number;
  /** … of which no mapped file. */
  readonly unmappedMegabytes: number;
  readonly diskBytes: number;
}

function footprintOf({ pid }: ServerProcess, root: string): Footprint {
  return {
    residentMegabytes: residentMegabytesOf(pid),
    unmappedMegabytes: unmappedMegabytesOf(pid),
    diskBytes: diskBytes(root),
  };
}

interface Cost {
  readonly count: number;
  readonly before: Footprint;
  readonly now: Footprint;
}

function costRows(bench: Bench, of: string, { count, before, now }: Cost): void {
  const megabytes = now.residentMegabytes - before.residentMegabytes;
  bytesRow(bench, `memory ${of}`, (megabytes * (1 << 20)) / count, 20);
  bytesRow(bench, `disk ${of}`, (now.diskBytes - before.diskBytes) / count, 4);
}

async function veryMany(bench: Bench, count: number): Promise<void> {
  const { options, report, directory } = bench;
  const root = join(directory, "many-workspaces");
  const server = await ServerProcess.start(root);
  const client = new ApiClient({ url: server.url, token: benchToken });
  const member = await memberOf(server);
  await client.must("POST", `/clusters/bystander${configMapsPath("default")}`, configMap("one"));
  const freshMs = server.readyMs;
  const idleP99 = await getP99(client, options.sizes.singleGets);
  // Verbs and resources that are used for the first time have series of their own.
  await makeAll(member, flat(1, "first"));
  await untilCounted(client);
  const seriesBefore = await metricSeries(client);
  const diskBefore = diskBytes(root);
  const samples = await fill(server, member, count);
  member.close();
  const plot = plotOf(samples, root);
  writeFileSync(options.isQuick ? join(directory, "workspaces.svg") : committedPlot, plot);
  const [first, last] = [samples[0] as WorkspaceSample, samples.at(-1) as WorkspaceSample];
  const megabytes = { server: "kcp", unit: "MB" } as const;
  report.add({
    work: `memory with ${count} workspaces`,
    ...megabytes,
    figure: last.megabytes,
    wanted: { what: "figure", atMost: 2000 },
  });
  bytesRow(
    bench,
    `memory of one of ${count}`,
    ((last.megabytes - first.megabytes) * (1 << 20)) / count,
    20,
  );
  bytesRow(bench, `disk of one of ${count}`, (diskBytes(root) - diskBefore) / count, 4);
  const fullP99 = await getP99(client, options.sizes.singleGets);
  report.add({
    work: `get p99 beside ${count} workspaces`,
    server: "kcp",
    figure: fullP99,
    unit: "ms",
    against: against("beside none", fullP99, idleP99),
    // Unchanged, but for what two measurements of the same differ by.
    wanted: { what: "ratio", atMost: 1.25 },
  });
  report.add({
    work: `metric series more, ${count} workspaces`,
    server: "kcp",
    figure: (await metricSeries(client)) - seriesBefore,
    unit: "series",
    // Whatever else happens for the first time meanwhile; one per workspace would be as many as
    // these.
    wanted: { what: "figure", atMost: 20 },
  });
  client.close();
  await server.stop();
  await startedAgain(bench, root, { count, freshMs });
}

async function startedAgain(
  { options, report }: Bench,
  root: string,
  { count, freshMs }: { readonly count: number; readonly freshMs: number },
): Promise<void> {
  const server = await ServerProcess.start(root);
  report.add({
    work: `restart with ${count} workspaces, to readyz`,
    server: "kcp",
    figure: server.readyMs,
    unit: "ms",
    cpuMicros: cpuMicrosOf(server.pid),
    against: against("in a fresh directory", server.readyMs, freshMs),
    wanted: { what: "figure", atMost: 3000 },
  });
  const client = new ApiClient({ url: server.url, token: benchToken });
  await client.must("GET", `/clusters/root${workspacesPath}/many-${count - 1}`);
  await sleep(systemClock, options.sizes.quietMs);
  report.add({
    work: `memory with ${count} workspaces, restarted`,
    server: "kcp",
    unit: "MB",
    figure: residentMegabytesOf(server.pid),
  });
  client.close();
  await server.stop();
}

/**
 * Makes them in parts, with a sample behind each. What is going on is said on stderr: it takes
 * minutes.
 */
async function fill(
  server: ServerProcess,
  client: ApiClient,
  count: number,
): Promise<WorkspaceSample[]> {
  const places = flat(count, "many");
  const part = Math.max(1, Math.ceil(count / samplesWanted));
  const samples = [{ workspaces: 0, megabytes: residentMegabytesOf(server.pid), perSecond: 0 }];
  for (let made = 0; made < count; made += part) {
    const next = places.slice(made, made + part);
    const { ms } = await timed(server, () => makeAll(client, next));
    const workspaces = made + next.length;
    const megabytes = residentMegabytesOf(server.pid);
    const perSecond = (next.length / ms) * 1000;
    samples.push({ workspaces, megabytes, perSecond });
    if (process.stderr.isTTY || workspaces % (10 * part) < part)
      process.stderr.write(
        `${workspaces} of ${count} workspaces, ${Math.round(megabytes)} MB, ${Math.round(perSecond)}/s\n`,
      );
  }
  return samples;
}

const samplesWanted = 100;

function plotOf(samples: readonly WorkspaceSample[], root: string): string {
  const { workspaces } = samples.at(-1) as WorkspaceSample;
  const caption = captionOf({
    workspaces,
    writers: writersAtOnce,
    store: mediumOf(root),
    nodeVersion: process.version,
    day: new Date(systemClock.now()).toISOString().slice(0, 10),
  });
  return workspacePlot(samples, { caption });
}

interface Taken {
  readonly ms: number;
  /** Of the server's processor time: what counts on a machine that is shared. */
  readonly cpuMicros: number;
}

async function timed(server: ServerProcess, body: () => Promise<void>): Promise<Taken> {
  const startedAt = systemClock.monotonic();
  const cpuBefore = cpuMicrosOf(server.pid);
  await body();
  return {
    ms: systemClock.monotonic() - startedAt,
    cpuMicros: cpuMicrosOf(server.pid) - cpuBefore,
  };
}

function rateRow({ report }: Bench, work: string, count: number, { ms, cpuMicros }: Taken): void {
  report.add({
    work,
    server: "kcp",
    figure: (count / ms) * 1000,
    unit: "/s",
    cpuMicros: cpuMicros / count,
    wanted: { what: "figure", atLeast: 500 },
  });
}

function bytesRow({ report }: Bench, work: string, bytes: number, kibibytesMax: number): void {
  report.add({
    work,
    server: "kcp",
    figure: bytes,
    unit: "bytes",
    wanted: { what: "figure", atMost: kibibytesMax << 10 },
  });
}

function givenBackRows({ report }: Bench, work: string, { pid }: ServerProcess, before: Footprint) {
  const figure = residentMegabytesOf(pid);
  report.add({
    work,
    server: "kcp",
    figure,
    unit: "MB",
    against: against("before", figure, before.residentMegabytes),
    wanted: { what: "ratio", atMost: 1.1 },
  });
  const unmapped = unmappedMegabytesOf(pid);
  report.add({
    work: "… that is no mapped file",
    server: "kcp",
    figure: unmapped,
    unit: "MB",
    against: against("before", unmapped, before.unmappedMegabytes),
  });
}

/** One after another, of an object that has nothing to do with any workspace. */
async function getP99(client: ApiClient, gets: number): Promise<number> {
  const path = `/clusters/bystander${configMapsPath("default")}/one`;
  const times: number[] = [];
  for (let i = 0; i < gets; i++) {
    const startedAt = systemClock.monotonic();
    await client.must("GET", path);
    times.push(systemClock.monotonic() - startedAt);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

async function metricSeries(client: ApiClient): Promise<number> {
  const text = await metricsOf(client);
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
}

/** Stored objects are counted when somebody first asks, and told a moment later. */
async function untilCounted(client: ApiClient): Promise<void> {
  while (!(await metricsOf(client)).includes("\napiserver_storage_objects{"))
    await sleep(systemClock, 50);
}

async function metricsOf(client: ApiClient): Promise<string> {
  return (await client.must("GET", "/metrics")).toString("utf8");
}

function diskBytes(root: string): number {
  const text = execFileSync("du", ["-sk", root], { encoding: "utf8" });
  return Number(text.split("\t")[0]) * 1024;
}
