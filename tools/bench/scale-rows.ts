/**
 * The same requests to logical clusters of different sizes: what a request costs must not depend on
 * what else is stored. Each size has a server of its own, and their rounds are interleaved.
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
import { configMap, configMapsPath, namespace } from "./objects.ts";
import { residentMegabytesOf, unmappedMegabytesOf } from "./process-figures.ts";
import { against, type Unit, type Wanted } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const cluster = "scale" as ClusterName;
const listed = "filled-000";
const created = "created";

interface SizedServer {
  readonly objects: number;
  readonly server: ServerProcess;
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
    for (const objects of bench.options.sizes.scaleObjects)
      servers.push(await start(bench, objects));
    for (const work of works(bench)) await workRow(bench, servers, work);
    for (const { objects, server } of servers) {
      const megabytes = residentMegabytesOf(server.pid);
      memoryRow(bench, `memory, ${objects} objects, after the load above`, megabytes);
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
    ({ objects, server }): Contender => ({
      name: `${objects}`,
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
    work: `${name}, ${first.name} objects`,
    figure: first.perSecond,
    cpuMicros: first.cpuMicros,
  });
  for (const each of larger) {
    report.add({
      ...row,
      work: `${name}, ${each.name} objects`,
      figure: each.perSecond,
      cpuMicros: each.cpuMicros,
      against: against(first.name, each.perSecond, first.perSecond, first.cpuMicros),
      wanted: { what: "ratio", atLeast: 0.8 },
    });
  }
}

async function start(bench: Bench, objects: number): Promise<SizedServer> {
  const root = join(bench.directory, `scale-${objects}`);
  await fill(root, objects, bench.options.sizes.scaleNamespaceItems);
  const server = await ServerProcess.start(root);
  bench.report.add({
    work: `start to readyz, ${objects} objects in a logical cluster`,
    server: "kcp",
    figure: server.readyMs,
    unit: "ms",
    wanted: { what: "figure", atMost: 2000 },
  });
  const client = new ApiClient({ url: `${server.url}/clusters/${cluster}`, token: benchToken });
  for (const name of [listed, created])
    await client.must("POST", "/api/v1/namespaces", namespace(name));
  client.close();
  return { objects, server };
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
