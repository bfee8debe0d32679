/**
 * Resident memory: of an idle server, after load, and what a logical cluster that nobody uses takes
 * of it.
 */
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench, Contest } from "./contest.ts";
import { median } from "./measure.ts";
import { namespace } from "./objects.ts";
import { cpuMicrosOf, residentMegabytesOf, unmappedMegabytesOf } from "./process-figures.ts";
import { against } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

export async function memoryRows(bench: Bench): Promise<void> {
  const { idleClusters, coldStarts } = bench.options.sizes;
  const emptyRoot = join(bench.directory, "empty");
  const clustersRoot = join(bench.directory, "clusters");
  await createClusters(clustersRoot, idleClusters);
  const empty: Megabytes[] = [];
  const full: Megabytes[] = [];
  const withoutConsole: Megabytes[] = [];
  for (let i = 0; i < coldStarts; i++) {
    empty.push(await idleMegabytes(bench, emptyRoot));
    full.push(await idleMegabytes(bench, clustersRoot));
    withoutConsole.push(await idleMegabytes(bench, emptyRoot, ["--console=false"]));
  }
  const idle = median(empty.map(({ resident }) => resident));
  const withClusters = median(full.map(({ resident }) => resident));
  const unmappedIdle = median(empty.map(({ unmapped }) => unmapped));
  const unmapped = median(full.map(({ unmapped }) => unmapped));
  bench.report.add({
    work: "memory, idle",
    server: "kcp",
    figure: idle,
    unit: "MB",
    wanted: { what: "figure", atMost: 100 },
  });
  bench.report.add({
    work: `memory, ${idleClusters} idle clusters, restarted`,
    server: "kcp",
    figure: withClusters,
    unit: "MB",
    against: against("none", withClusters, idle),
  });
  bench.report.add({
    work: "… that is no mapped file",
    server: "kcp",
    figure: unmapped,
    unit: "MB",
    against: against("none", unmapped, unmappedIdle),
  });
  bench.report.add({
    work: "memory of an idle cluster beyond its bytes on disk",
    server: "kcp",
    figure: ((unmapped - unmappedIdle) * (1 << 20)) / idleClusters,
    unit: "bytes",
    wanted: { what: "figure", atMost: noiseBytesMax },
  });
  const withoutIt = median(withoutConsole.map((one) => one.unmapped));
  await consoleRows(bench, emptyRoot, unmappedIdle, withoutIt);
}

/** What the console takes of an idle server: before a browser asks for it, and afterwards. */
async function consoleRows(bench: Bench, root: string, before: number, without: number) {
  const { options, report } = bench;
  const growths: number[] = [];
  for (let i = 0; i < options.sizes.coldStarts; i++) {
    const server = await ServerProcess.start(root);
    await untilIdle(server);
    await sleep(systemClock, options.sizes.settleMs);
    const emptyMegabytes = unmappedMegabytesOf(server.pid);
    await loadConsole(server.url);
    await untilIdle(server);
    await sleep(systemClock, options.sizes.settleMs);
    growths.push(unmappedMegabytesOf(server.pid) - emptyMegabytes);
    await server.stop();
  }
  const wanted = { what: "figure", atMost: 1 } as const;
  const row = { server: "kcp", unit: "MB", wanted } as const;
  report.add({ ...row, work: "memory, idle, that the console takes", figure: before - without });
  report.add({ ...row, work: "… that its page leaves behind", figure: median(growths) });
}

/** The files that a browser loads for the first screen. */
async function loadConsole(url: string): Promise<void> {
  const client = new ApiClient({ url, token: benchToken });
  const { body } = await client.request("GET", "/console/", undefined, undefined, "text/html");
  const files = [...body.toString("utf8").matchAll(/\/console\/assets\/[\w.-]+/g)].map(
    ([file]) => file,
  );
  if (files.length === 0) throw new Error("the console has no files");
  for (const file of [...files, "/console/config.json"])
    if ((await client.request("GET", file, undefined, undefined, "*/*")).status !== 200)
      throw new Error(`${file} is not served`);
  client.close();
}

/** A server is never twice of the same size: two megabytes or so, over all clusters. */
const noiseBytesMax = 256;

interface Megabytes {
  readonly resident: number;
  readonly unmapped: number;
}

/**
 * After all requests of the other rows; some time later, because memory is given back when there is
 * time.
 */
export async function loadedMemoryRow(bench: Bench, { kcp }: Contest): Promise<void> {
  await sleep(systemClock, bench.options.sizes.settleMs);
  bench.report.add({
    work: "memory, after the load above",
    server: "kcp",
    figure: residentMegabytesOf(kcp.pid ?? 0),
    unit: "MB",
  });
}

async function idleMegabytes(
  { options }: Bench,
  root: string,
  flags: readonly string[] = [],
): Promise<Megabytes> {
  const server = await ServerProcess.start(root, { flags });
  await untilIdle(server);
  await sleep(systemClock, options.sizes.settleMs);
  const { pid } = server;
  const megabytes = { resident: residentMegabytesOf(pid), unmapped: unmappedMegabytesOf(pid) };
  await server.stop();
  return megabytes;
}

/**
 * Idle is who has done what was to be done: control loops give every new namespace its objects, and
 * look through everything after a start.
 */
export async function untilIdle({ pid }: ServerProcess): Promise<void> {
  for (let quiet = 0, before = cpuMicrosOf(pid); quiet < quietPolls; ) {
    await sleep(systemClock, quietPollMs);
    const now = cpuMicrosOf(pid);
    quiet = now - before < quietCpuMicros ? quiet + 1 : 0;
    before = now;
  }
}

const quietPollMs = 500;
const quietPolls = 4;
const quietCpuMicros = 30_000;

/** A logical cluster exists when something is in it. */
async function createClusters(root: string, count: number): Promise<void> {
  const server = await ServerProcess.start(root);
  const client = new ApiClient({ url: server.url, token: benchToken });
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const cluster = `tenant-${next++}`;
      await client.must("POST", `/clusters/${cluster}/api/v1/namespaces`, namespace("home"));
    }
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  client.close();
  await untilIdle(server);
  await server.stop();
}
