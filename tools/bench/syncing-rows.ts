/**
 * Syncing to physical clusters, as `kcp start` does it: how long a change takes to a cluster and a
 * status back at a steady pace, what the control plane holds for many clusters, and what a restart
 * writes.
 *
 * The physical clusters are logical clusters of a second server, in a process that is not counted:
 * for a syncer they are clusters like others. Changes are timed from when each was due, so that a
 * control plane that is held up shows.
 */

import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { definitionOfKind, object, string } from "@kcp-ts/machinery/schema";
import { ApiClient } from "./api-client.ts";
import {
  type BenchClusters,
  type ClusterKind,
  isReady,
  p99,
  until,
  Waits,
  withBenchClusters,
  within,
} from "./bench-clusters.ts";
import type { Bench } from "./contest.ts";
import { cpuMicrosOf, residentMegabytesOf } from "./process-figures.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const widgetsPath = "/apis/example.com/v1/namespaces/default/widgets";
const allWidgetsPath = "/apis/example.com/v1/widgets";
const writersAtOnce = 16;

export async function syncingRows(bench: Bench): Promise<void> {
  const { sizes } = bench.options;
  await withBenchClusters(
    bench,
    { name: "syncing", count: sizes.syncTargets, kind: widgets },
    async (clusters) => {
      const names = await fill(clusters, sizes.syncObjects);
      await aloneRow(bench, clusters, names.length);
      await paceRows(bench, clusters, names);
    },
  );
}

/** Apart from the pace: it takes minutes. */
export async function syncingMemoryRows(bench: Bench): Promise<void> {
  const { sizes } = bench.options;
  await withBenchClusters(
    bench,
    { name: "many", count: sizes.syncManyTargets, kind: widgets },
    async (clusters) => {
      const names = await fill(clusters, sizes.syncManyObjects);
      await sleep(systemClock, sizes.settleMs);
      bench.report.add({
        work: `memory, syncing ${names.length} objects to ${clusters.targets.length} clusters`,
        server: "kcp",
        figure: residentMegabytesOf(clusters.plane.pid),
        unit: "MB",
        wanted: { what: "figure", atMost: 600 },
      });
      await restartRow(bench, clusters, names.length);
    },
  );
}

const definition = definitionOfKind({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  resource: "widgets",
  isNamespaced: true,
  hasStatus: true,
  schema: object({
    spec: object({ color: string(), text: string() }),
    status: object({ phase: string() }),
  }),
});

const widgets: ClusterKind = { definition, path: widgetsPath };

/** So many objects for each cluster, all of them in their clusters when it is done. */
async function fill(clusters: BenchClusters, perTarget: number): Promise<readonly string[]> {
  const { plane, physical, targets } = clusters;
  const names = targets.flatMap((target) =>
    Array.from({ length: perTarget }, (_, index) => `${target}-${index}`),
  );
  await within(plane, "", async (client) => {
    let next = 0;
    const write = async () => {
      for (let name = names[next++]; name !== undefined; name = names[next++]) {
        const labels = { "workload.kcp.io/cluster": name.slice(0, name.indexOf("-")) };
        await client.must("POST", widgetsPath, widget({ name, labels }));
      }
    };
    await Promise.all(Array.from({ length: writersAtOnce }, write));
  });
  for (const target of targets) {
    await within(physical, `/clusters/${target}`, async (client) => {
      const isFull = async () => (await versions(client)).size === perTarget;
      await until(`${target} has its objects`, isFull);
    });
  }
  return names;
}

function widget(metadata: object): string {
  const spec = { color: "red", text: "x".repeat(500) };
  return JSON.stringify({ apiVersion: "example.com/v1", kind: "Widget", metadata, spec });
}

async function versions(client: ApiClient): Promise<ReadonlyMap<string, string>> {
  const body = await client.must("GET", allWidgetsPath);
  const { items } = JSON.parse(body.toString("utf8")) as {
    items: { metadata: { name: string; resourceVersion: string } }[];
  };
  return new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

async function paceRows(
  bench: Bench,
  clusters: BenchClusters,
  names: readonly string[],
): Promise<void> {
  const { syncChangesPerSecond: perSecond, syncMs, warmUps } = bench.options.sizes;
  const { plane, physical, targets } = clusters;
  const down = new Waits();
  const back = new Waits();
  const upstream = new ApiClient({ url: plane.url, token: benchToken });
  const clients = [upstream];
  for (const target of targets) {
    const client = new ApiClient({ url: `${physical.url}/clusters/${target}`, token: benchToken });
    clients.push(client);
    await client.watch(`${allWidgetsPath}?watch=true`, (line) => {
      const { metadata, spec } = (JSON.parse(line) as WidgetEvent).object;
      const change = Number(spec.color);
      if (!down.seen(metadata.name, change)) return;
      back.begin(metadata.name, change, systemClock.monotonic());
      const { namespace, name } = metadata;
      const path = `/apis/example.com/v1/namespaces/${namespace}/widgets/${name}/status`;
      const patch = JSON.stringify({ status: { phase: spec.color } });
      void client.must("PATCH", path, patch, "application/merge-patch+json");
    });
  }
  await upstream.watch(`${widgetsPath}?watch=true`, (line) => {
    const { metadata, status } = (JSON.parse(line) as WidgetEvent).object;
    if (status !== undefined) back.seen(metadata.name, Number(status.phase));
  });
  const total = Math.floor((perSecond * syncMs) / 1000);
  const round = async (number: number) => {
    await atPace({ perSecond, total }, (index, dueAt) => {
      const change = number * total + index;
      const name = names[change % names.length] ?? "";
      down.begin(name, change, dueAt);
      const patch = JSON.stringify({ spec: { color: String(change) } });
      void upstream.must("PATCH", `${widgetsPath}/${name}`, patch, "application/merge-patch+json");
    });
    await until("all is in the clusters and back", async () => down.open + back.open === 0);
  };
  for (let number = 0; number < warmUps; number++) await round(number);
  for (const { waits } of [down, back]) waits.length = 0;
  const before = await Promise.all([requestsOf(plane), requestsOf(physical)]);
  const cpuBefore = cpuMicrosOf(plane.pid);
  await round(warmUps);
  const cpuMicros = (cpuMicrosOf(plane.pid) - cpuBefore) / total;
  const after = await Promise.all([requestsOf(plane), requestsOf(physical)]);
  const pace = `${perSecond} changes/s over ${targets.length} clusters`;
  const wanted = { what: "figure", atMost: 250 } as const;
  const row = { server: "kcp", unit: "ms", wanted } as const;
  bench.report.add({
    ...row,
    work: `change to cluster, p99, ${pace}`,
    figure: p99(down.waits),
    cpuMicros,
  });
  bench.report.add({ ...row, work: `status back, p99, ${pace}`, figure: p99(back.waits) });
  for (const [index, where] of ["the control plane", "the clusters"].entries()) {
    // One of them is the benchmark's own, on either side: the change here, the status there.
    const figure = ((after[index] ?? 0) - (before[index] ?? 0)) / total - 1;
    bench.report.add({
      work: `requests of a syncer to ${where}, each change`,
      server: "kcp",
      figure,
      unit: "requests",
      wanted: { what: "figure", atMost: 1.2 },
    });
  }
  for (const client of clients) client.close();
}

/**
 * What the control plane's own share of it is: as many changes and statuses of objects that no
 * cluster is to have, at the same pace. What is more than that below is the syncer's.
 */
async function aloneRow(bench: Bench, { plane }: BenchClusters, objects: number): Promise<void> {
  const { syncChangesPerSecond: perSecond, syncMs } = bench.options.sizes;
  const total = Math.floor((perSecond * syncMs) / 1000);
  const paths = Array.from({ length: objects }, (_, index) => `${widgetsPath}/unassigned-${index}`);
  await within(plane, "", async (client) => {
    for (const path of paths) {
      const metadata = { name: path.slice(path.lastIndexOf("/") + 1) };
      await client.must("POST", widgetsPath, widget(metadata));
    }
    const waits = new Waits();
    await client.watch(`${widgetsPath}?watch=true`, (line) => {
      const { metadata, status } = (JSON.parse(line) as WidgetEvent).object;
      if (status !== undefined) waits.seen(metadata.name, Number(status.phase));
    });
    const type = "application/merge-patch+json";
    const cpuBefore = cpuMicrosOf(plane.pid);
    await atPace({ perSecond, total }, (change, dueAt) => {
      const path = paths[change % paths.length] ?? "";
      waits.begin(path.slice(path.lastIndexOf("/") + 1), change, dueAt);
      const spec = JSON.stringify({ spec: { color: String(change) } });
      const status = JSON.stringify({ status: { phase: String(change) } });
      void client
        .must("PATCH", path, spec, type)
        .then(() => client.must("PATCH", `${path}/status`, status, type));
    });
    await until("all is seen", async () => waits.open === 0);
    const cpuMicros = (cpuMicrosOf(plane.pid) - cpuBefore) / total;
    const work = `change and status, p99, ${perSecond} changes/s, nothing to sync`;
    const figure = p99(waits.waits);
    bench.report.add({ work, server: "kcp", figure, unit: "ms", cpuMicros });
    for (const path of paths) await client.must("DELETE", path);
  });
}

/** Each when it is due, or as soon as possible after that. */
async function atPace(
  { perSecond, total }: { readonly perSecond: number; readonly total: number },
  body: (change: number, dueAt: number) => void,
): Promise<void> {
  const begin = systemClock.monotonic();
  for (let change = 0; change < total; change++) {
    const dueAt = begin + (change * 1000) / perSecond;
    const waitMs = dueAt - systemClock.monotonic();
    if (waitMs > 1) await sleep(systemClock, waitMs);
    body(change, dueAt);
  }
}

/** All that a server was asked, watches and looks at itself left out. */
async function requestsOf(server: ServerProcess): Promise<number> {
  let sum = 0;
  await within(server, "", async (client) => {
    const text = (await client.must("GET", "/metrics")).toString("utf8");
    for (const line of text.split("\n")) {
      const match = /^apiserver_request_total\{(.*resource="widgets".*)\} (\d+)$/.exec(line);
      if (match !== null && !/verb="WATCH"/.test(match[1] ?? "")) sum += Number(match[2]);
    }
  });
  return sum;
}

interface WidgetEvent {
  readonly object: {
    readonly metadata: { readonly name: string; readonly namespace: string };
    readonly spec: { readonly color: string };
    readonly status?: { readonly phase: string };
  };
}

/** Objects that a restart of the control plane causes to be written, on either side. */
async function restartRow(bench: Bench, clusters: BenchClusters, objects: number): Promise<void> {
  const before = await allVersions(clusters);
  await clusters.plane.stop();
  clusters.plane = await ServerProcess.start(clusters.directory);
  await within(clusters.plane, "", async (client) => {
    for (const target of clusters.targets)
      await until(`${target} is back`, () => isReady(client, target));
  });
  await sleep(systemClock, bench.options.sizes.settleMs);
  const after = await allVersions(clusters);
  const written = [...before].filter(([name, version]) => after.get(name) !== version);
  bench.report.add({
    work: `objects written by a restart, of ${objects}`,
    server: "kcp",
    figure: written.length,
    unit: "errors",
    wanted: { what: "figure", atMost: 0 },
  });
}

async function allVersions({
  plane,
  physical,
  targets,
}: BenchClusters): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const read = (server: ServerProcess, path: string, where: string) =>
    within(server, path, async (client) => {
      for (const [name, version] of await versions(client)) found.set(`${where} ${name}`, version);
    });
  await read(plane, "", "plane");
  for (const target of targets) await read(physical, `/clusters/${target}`, target);
  return found;
}
