/**
 * The same requests to logical clusters of different sizes: what a request costs must not depend on
 * what else is stored. Each size has a server of its own, and their rounds are interleaved. One
 * more server has the smallest size and a cache that holds none of it.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Entry, objectKey, type Revision } from "@kcp-ts/apiserver/storage";
import { EmbeddedStorage } from "@kcp-ts/apiserver/storage/embedded";
import { encodeObject } from "@kcp-ts/apiserver/stored-object";
import { neverAborted, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ApiClient } from "./api-client.ts";
import type { Bench, Shape } from "./contest.ts";
import { type Contender, interleaved, type Measured } from "./measure.ts";
import { untilIdle } from "./memory-rows.ts";
import { configMap, configMapsPath, namespace } from "./objects.ts";
import { cpuMicrosOf, residentMegabytesOf, unmappedMegabytesOf } from "./process-figures.ts";
import { against, type Unit, type Wanted } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const cluster = "scale" as ClusterName;
const listed = "filled-000";
const created = "created";

/** Less than half of any listed namespace takes. */
const smallCache = ["--max-cache-bytes", "65536"];

interface SizedServer {
  readonly name: string;
  readonly server: ServerProcess;
  /** The least rate of a list, relative to that of the first server. */
  readonly atLeast: number;
  /** Lists by label are indexed. */
  readonly atLeastByLabel: number | undefined;
}

interface Work {
  readonly name: string;
  readonly path: string;
  readonly shape: Shape;
  readonly body?: string;
}

export async function scaleRows(bench: Bench): Promise<void> {
  const servers: SizedServer[] = [];
  try {
    const { scaleObjects } = bench.options.sizes;
    for (const objects of scaleObjects) {
      const server = await start(bench, `${objects} objects`, objects, []);
      servers.push({ name: `${objects} objects`, server, atLeast: 0.8, atLeastByLabel: 0.8 });
    }
    const [fewest = 0] = scaleObjects;
    const uncached = "a cache that holds none";
    const server = await start(bench, uncached, fewest, smallCache);
    servers.push({ name: uncached, server, atLeast: 0.5, atLeastByLabel: undefined });
    for (const work of works(bench)) await workRow(bench, servers, work);
    for (const { name, server } of servers) {
      const megabytes = residentMegabytesOf(server.pid);
      memoryRow(bench, `memory, ${name}, after the load above`, megabytes);
      memoryRow(bench, "… that is no mapped file", unmappedMegabytesOf(server.pid));
    }
  } finally {
    for (const { server } of servers) await server.stop();
  }
}

const memoryMax: Wanted = { what: "figure", atMost: 1500 };

function memoryRow({ report }: Bench, work: string, figure: number): void {
  report.add({ work, server: "kcp", figure, unit: "MB", wanted: memoryMax });
}

function works({ options: { sizes } }: Bench): Work[] {
  const { scaleNamespaceItems: items, pageItems } = sizes;
  const list = configMapsPath(listed);
  const many = { connections: 8, streams: 8 };
  const one = { connections: 1, streams: 1 };
  const pages = { ...one, requests: sizes.pages };
  return [
    {
      name: "get, 64 in flight",
      path: `${list}/${nameOf(7)}`,
      shape: { ...many, requests: sizes.getsPerRound },
    },
    {
      name: "create of 1 KB, 64 in flight",
      path: configMapsPath(created),
      shape: { ...many, requests: sizes.createsPerRound },
      body: configMap(),
    },
    {
      name: `page of ${pageItems} of the logical cluster`,
      path: `/api/v1/configmaps?limit=${pageItems}`,
      shape: pages,
    },
    {
      name: `page of ${pageItems} of a namespace`,
      path: `${list}?limit=${pageItems}`,
      shape: pages,
    },
    {
      name: `list of a namespace of ${items}`,
      path: list,
      shape: { ...one, requests: sizes.lists },
    },
    {
      name: `list of a namespace of ${items} by label, a hundredth`,
      path: `${list}?labelSelector=hundredth%3Dh7`,
      shape: pages,
    },
    {
      name: `list of a namespace of ${items} by label, none match`,
      path: `${list}?labelSelector=half%3Db`,
      shape: pages,
    },
  ];
}

async function workRow(
  { options, report, generate }: Bench,
  servers: readonly SizedServer[],
  { name, path, shape, body }: Work,
): Promise<void> {
  const contenders = servers.map(
    ({ name, server }): Contender => ({
      name,
      pid: server.pid,
      round: async () => {
        const url = `${server.url}/clusters/${cluster}${path}`;
        const perSecond = await generate({ url, token: benchToken, body, ...shape });
        return { perSecond, count: shape.requests };
      },
    }),
  );
  const { rounds, sizes } = options;
  const measured = await interleaved(contenders, { rounds, warmUps: sizes.warmUps });
  const [first, ...larger] = measured as [Measured, ...Measured[]];
  const unit: Unit = "/s";
  const row = { server: "kcp", unit } as const;
  report.add({
    ...row,
    work: `${name}, ${first.name}`,
    figure: first.perSecond,
    cpuMicros: first.cpuMicros,
  });
  for (const [at, each] of larger.entries()) {
    const server = servers[at + 1];
    const atLeast = path.includes("labelSelector") ? server?.atLeastByLabel : server?.atLeast;
    report.add({
      ...row,
      work: `${name}, ${each.name}`,
      figure: each.perSecond,
      cpuMicros: each.cpuMicros,
      against: against(first.name, each.perSecond, first.perSecond, first.cpuMicros),
      wanted: atLeast === undefined ? undefined : { what: "ratio", atLeast },
    });
  }
}

async function start(
  bench: Bench,
  name: string,
  objects: number,
  flags: readonly string[],
): Promise<ServerProcess> {
  const root = join(bench.directory, `scale-${name.replaceAll(" ", "-")}`);
  await fill(root, objects, bench.options.sizes.scaleNamespaceItems);
  const server = await ServerProcess.start(root, { flags });
  const row = { server: "kcp", unit: "ms" } as const;
  const wanted: Wanted = { what: "figure", atMost: 2000 };
  const started = cpuMicrosOf(server.pid) / 1000;
  bench.report.add({ ...row, work: `start to readyz, ${name}`, figure: server.readyMs, wanted });
  bench.report.add({ ...row, work: "… of processor time", figure: started, wanted });
  await untilIdle(server);
  const quiet = cpuMicrosOf(server.pid) / 1000;
  bench.report.add({ ...row, work: "… and until it is idle", figure: quiet });
  const client = new ApiClient({ url: `${server.url}/clusters/${cluster}`, token: benchToken });
  for (const folder of [listed, created])
    await client.must("POST", "/api/v1/namespaces", namespace(folder));
  client.close();
  return server;
}

/** Writes the objects into a new store, as a restore does. */
async function fill(root: string, objects: number, namespaceItems: number): Promise<void> {
  const directory = join(root, "data");
  const storage = await EmbeddedStorage.open({ directory, clock: systemClock });
  try {
    const snapshot = { revision: objects as Revision, entries: entriesOf(objects, namespaceItems) };
    await storage.restoreSnapshot(snapshot, { signal: neverAborted });
  } finally {
    await storage.close();
  }
}

async function* entriesOf(objects: number, namespaceItems: number): AsyncGenerator<Entry> {
  for (let at = 0; at < objects; at++) {
    const folder = `filled-${String(Math.floor(at / namespaceItems)).padStart(3, "0")}`;
    const name = nameOf(at);
    const key = { group: "", resource: "configmaps", identity: "", cluster, name };
    const revision = (at + 1) as Revision;
    yield {
      key: objectKey({ ...key, namespace: folder }),
      value: encodeObject({
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: {
          name,
          namespace: folder,
          uid: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
          creationTimestamp: "2026-01-01T00:00:00Z",
          labels: { app: "bench", half: "a", hundredth: `h${at % 100}` },
        },
        data: { payload: noise(at), key: "value" },
      }),
      createdAt: revision,
      modifiedAt: revision,
    };
  }
}

function nameOf(at: number): string {
  return `x-${String(at).padStart(8, "0")}`;
}

/** 700 characters that do not compress: slices of one text that are seldom near each other. */
function noise(seed: number): string {
  const from = (seed * 7919) % (noiseText.length - 700);
  return noiseText.slice(from, from + 700);
}

const noiseText = Array.from({ length: 1500 }, (_, i) =>
  createHash("sha256").update(String(i)).digest("base64"),
).join("");
