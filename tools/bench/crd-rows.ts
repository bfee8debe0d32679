/**
 * Custom resources: how many definitions a cluster bears, what they cost, and what their objects
 * cost beside built-in ones.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import {
  definitionsPath,
  distinctDefinition,
  widget,
  widgets,
  widgetsPath,
} from "./crd-definitions.ts";
import { schemaRows } from "./crd-schema-rows.ts";
import { median } from "./measure.ts";
import { configMap, configMapsPath } from "./objects.ts";
import { cpuMicrosOf } from "./process-figures.ts";
import { against } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const run = promisify(execFile);
const established = '"type":"Established","status":"True"';

export async function crdRows(bench: Bench): Promise<void> {
  schemaRows(bench);
  await distinctRows(bench);
  await sameRows(bench);
  await createRatio(bench);
}

/** Many kinds in one cluster. */
async function distinctRows(bench: Bench): Promise<void> {
  const { definitions: count } = bench.options.sizes;
  const root = join(bench.directory, "definitions");
  let server = await ServerProcess.start(root);
  let client = new ApiClient({ url: `${server.url}/clusters/many`, token: benchToken });
  const cpuBefore = cpuMicrosOf(server.pid);
  const startedAt = systemClock.monotonic();
  await workers(8, count, (i) => client.must("POST", definitionsPath, distinctDefinition(i)));
  for (;;) {
    const list = (await client.must("GET", definitionsPath)).toString("latin1");
    if (list.split(established).length - 1 >= count) break;
    await sleep(systemClock, 50);
  }
  const seconds = (systemClock.monotonic() - startedAt) / 1000;
  bench.report.add({
    work: `${count} distinct definitions established`,
    server: "kcp",
    figure: count / seconds,
    unit: "/s",
    cpuMicros: (cpuMicrosOf(server.pid) - cpuBefore) / count,
    wanted: { what: "figure", atLeast: 100 },
  });
  client.close();
  await server.stop();

  server = await ServerProcess.start(root, { preload: "hold-sampler" });
  client = new ApiClient({ url: `${server.url}/clusters/many`, token: benchToken });
  const empty = await heapOf(server);
  await kubectlRow(bench, server, root, count);
  await client.must("GET", "/apis");
  const listed = await heapOf(server);
  const memory = (work: string, bytes: number): void =>
    bench.report.add({
      work,
      server: "kcp",
      figure: bytes / count,
      unit: "bytes",
      wanted: { what: "figure", atMost: 100 << 10 },
    });
  memory("memory of a definition that is listed", listed - empty);
  await workers(8, count, (i) =>
    client.must(
      "POST",
      `/apis/g${i % 100}.example.com/v1/namespaces/default/kinds${i}?dryRun=All`,
      JSON.stringify({ metadata: { name: "x" }, spec: {} }),
    ),
  );
  memory("memory of a definition in use", (await heapOf(server)) - empty);
  client.close();
  await server.stop();
}

/** As somebody does who comes for the first time: nothing is cached on either side. */
async function kubectlRow(
  bench: Bench,
  server: ServerProcess,
  root: string,
  count: number,
): Promise<void> {
  const kubectl = findKubectl();
  if (kubectl === undefined) return;
  const startedAt = systemClock.monotonic();
  const { stdout } = await run(
    kubectl,
    [
      "api-resources",
      ...["--server", `${server.url}/clusters/many`, "--token", benchToken],
      ...["--insecure-skip-tls-verify", "--kubeconfig", "/dev/null"],
      ...["--cache-dir", mkdtempSync(join(root, "cache-"))],
    ],
    { maxBuffer: 64 << 20 },
  );
  const ms = systemClock.monotonic() - startedAt;
  const lines = stdout.split("\n").length;
  if (lines < count) throw new Error(`kubectl api-resources has ${lines} lines`);
  bench.report.add({
    work: `kubectl api-resources, cold, ${count} definitions`,
    server: "kcp",
    figure: ms,
    unit: "ms",
    wanted: { what: "figure", atMost: 1_000 },
  });
}

function findKubectl(): string | undefined {
  const { PATH = "", KUBEBUILDER_ASSETS = "" } = process.env;
  return [KUBEBUILDER_ASSETS, ...PATH.split(":")]
    .filter(Boolean)
    .map((folder) => join(folder, "kubectl"))
    .find((path) => existsSync(path));
}

/** One kind in many clusters. */
async function sameRows(bench: Bench): Promise<void> {
  const { definedClusters: count } = bench.options.sizes;
  const root = join(bench.directory, "same");
  let server = await ServerProcess.start(root);
  let client = new ApiClient({ url: server.url, token: benchToken });
  const startedAt = systemClock.monotonic();
  await workers(16, count, (i) =>
    client.must("POST", `/clusters/c${i}${definitionsPath}`, widgets),
  );
  const seconds = (systemClock.monotonic() - startedAt) / 1000;
  bench.report.add({
    work: `the same definition in ${count} clusters`,
    server: "kcp",
    figure: count / seconds,
    unit: "/s",
  });
  const served = async (i: number) => {
    while ((await client.status("GET", `/clusters/c${i}${widgetsPath}`)) !== 200)
      await sleep(systemClock, 10);
  };
  await workers(16, count, served);
  client.close();
  await server.stop();

  server = await ServerProcess.start(root, { preload: "hold-sampler" });
  client = new ApiClient({ url: server.url, token: benchToken });
  await served(0);
  const before = await heapOf(server);
  await workers(16, count, (i) => client.status("GET", `/clusters/c${i}${widgetsPath}/nothing`));
  bench.report.add({
    work: "memory of a cluster with it, in use",
    server: "kcp",
    figure: ((await heapOf(server)) - before) / count,
    unit: "bytes",
    wanted: { what: "figure", atMost: 2_048 },
  });
  client.close();
  await server.stop();
}

/** By processor time of the server: what else runs on the machine does not count. */
async function createRatio(bench: Bench): Promise<void> {
  const { customObjects: count, warmUps } = bench.options.sizes;
  const server = await ServerProcess.start(join(bench.directory, "customs"));
  const client = new ApiClient({ url: `${server.url}/clusters/customs`, token: benchToken });
  await client.must("POST", definitionsPath, widgets);
  while ((await client.status("GET", widgetsPath)) !== 200) await sleep(systemClock, 10);
  const perSecond = async (path: string, body: (i: number) => string): Promise<number> => {
    const before = cpuMicrosOf(server.pid);
    await workers(16, count, (i) => client.must("POST", path, body(i)));
    // Ticks are coarse: a quick run may see none.
    return (count * 1e6) / Math.max(1, cpuMicrosOf(server.pid) - before);
  };
  const customs: number[] = [];
  const plains: number[] = [];
  for (let round = -warmUps; round < bench.options.rounds; round++) {
    const custom = await perSecond(widgetsPath, (i) => widget(`r${round + warmUps}-${i}`));
    const plain = await perSecond(configMapsPath("default"), (i) =>
      configMap(`r${round + warmUps}-${i}`),
    );
    if (round < 0) continue;
    customs.push(custom);
    plains.push(plain);
  }
  const [ours, theirs] = [median(customs), median(plains)];
  bench.report.add({
    work: "create of a custom object, by processor time",
    server: "kcp",
    figure: ours,
    unit: "/s",
    against: against("ConfigMap of the size", ours, theirs),
    wanted: { what: "ratio", atLeast: 0.8 },
  });
  client.close();
  await server.stop();
}

async function heapOf(server: ServerProcess): Promise<number> {
  server.say("heap");
  const { heapBytes } = JSON.parse(await server.line('{"heapBytes"')) as { heapBytes: number };
  return heapBytes;
}

export async function workers(
  atOnce: number,
  count: number,
  work: (i: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
