/**
 * The control loops: how long until a full namespace and the dependents of a deleted owner are
 * gone, and what another tenant feels of it meanwhile.
 *
 * The other tenant's gets are sent at a steady pace and timed from when each was due, so that a
 * server that is held up shows as slow gets; what counts is their ratio to the same gets beside an
 * idle server, in the same run.
 */
import { join } from "node:path";
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import { configMapsPath, namespace } from "./objects.ts";
import { cpuMicrosOf } from "./process-figures.ts";
import { against } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const writersAtOnce = 64;
const getEveryMs = 2;

export async function loopsRows(bench: Bench): Promise<void> {
  const { loopObjects, settleMs } = bench.options.sizes;
  const server = await ServerProcess.start(join(bench.directory, "loops"));
  const busy = new ApiClient({ url: `${server.url}/clusters/busy`, token: benchToken });
  const bystander = new ApiClient({ url: `${server.url}/clusters/bystander`, token: benchToken });
  try {
    await bystander.must("POST", configMapsPath("default"), configMapOwnedBy("one", undefined));
    await gets(bystander, sleep(systemClock, settleMs));
    const idleP99 = p99(await gets(bystander, sleep(systemClock, Math.max(500, settleMs))));
    for (const [work, begin, isOver] of works(busy)) {
      await begin(loopObjects);
      await sleep(systemClock, settleMs);
      const startedAt = systemClock.monotonic();
      const cpuBefore = cpuMicrosOf(server.pid);
      await busy.must("DELETE", isOver.deleted);
      const waits = await gets(bystander, until(isOver.check));
      const cpuMicros = (cpuMicrosOf(server.pid) - cpuBefore) / loopObjects;
      report(bench, { work: `${work} with ${loopObjects}`, startedAt, waits, idleP99, cpuMicros });
    }
  } finally {
    busy.close();
    bystander.close();
    await server.stop();
  }
}

interface Ending {
  /** What is deleted to begin with. */
  readonly deleted: string;
  readonly check: () => Promise<boolean>;
}

type Work = readonly [name: string, begin: (objects: number) => Promise<void>, ending: Ending];

function works(busy: ApiClient): readonly Work[] {
  const owned = configMapsPath("owned");
  return [
    [
      "a namespace is gone,",
      async (objects) => {
        await busy.must("POST", "/api/v1/namespaces", namespace("full"));
        await fill(busy, "full", objects, undefined);
      },
      {
        deleted: "/api/v1/namespaces/full",
        check: async () => (await busy.status("GET", "/api/v1/namespaces/full")) === 404,
      },
    ],
    [
      "dependents are gone, an owner",
      async (objects) => {
        await busy.must("POST", "/api/v1/namespaces", namespace("owned"));
        const body = await busy.must("POST", owned, configMapOwnedBy("owner", undefined));
        const { metadata } = JSON.parse(body.toString("utf8")) as { metadata: { uid: string } };
        await fill(busy, "owned", objects, metadata.uid);
      },
      {
        deleted: `${owned}/owner`,
        check: async () => {
          const body = await busy.must("GET", `${owned}?limit=2`);
          return (JSON.parse(body.toString("utf8")) as { items: unknown[] }).items.length <= 1;
        },
      },
    ],
  ];
}

function configMapOwnedBy(name: string, ownerUid: string | undefined): string {
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: ownerUid };
  const ownerReferences = ownerUid === undefined ? [] : [reference];
  const metadata = { name, ownerReferences };
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { key: "value" } });
}

async function fill(
  client: ApiClient,
  namespaceName: string,
  objects: number,
  ownerUid: string | undefined,
): Promise<void> {
  let next = 0;
  const write = async () => {
    while (next < objects) {
      await client.must(
        "POST",
        configMapsPath(namespaceName),
        configMapOwnedBy(`c${next++}`, ownerUid),
      );
    }
  };
  await Promise.all(Array.from({ length: writersAtOnce }, write));
}

async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await sleep(systemClock, 50);
}

/** How long each get took from when it was due, in milliseconds, while `work` went on. */
async function gets(
  client: ApiClient,
  work: Promise<void>,
  clock: Clock = systemClock,
): Promise<number[]> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  const waits: number[] = [];
  while (!isOver) {
    const dueAt = clock.monotonic() + getEveryMs;
    await sleep(clock, getEveryMs);
    await client.must("GET", `${configMapsPath("default")}/one`);
    waits.push(clock.monotonic() - dueAt);
  }
  await over;
  return waits;
}

function p99(waits: readonly number[]): number {
  const sorted = [...waits].sort((a, b) => a - b);
  return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? Number.NaN;
}

interface Outcome {
  readonly work: string;
  readonly startedAt: number;
  readonly waits: readonly number[];
  readonly idleP99: number;
  /** Of the server, for each object; the other tenant's gets are part of it. */
  readonly cpuMicros: number;
}

function report(bench: Bench, outcome: Outcome): void {
  const { work, startedAt, waits, idleP99, cpuMicros } = outcome;
  bench.report.add({
    work,
    server: "kcp",
    figure: systemClock.monotonic() - startedAt,
    unit: "ms",
    cpuMicros,
    wanted: { what: "figure", atMost: 10_000 },
  });
  bench.report.add({
    work: "… another tenant's get meanwhile, p99",
    server: "kcp",
    figure: p99(waits),
    unit: "ms",
    against: against("idle", p99(waits), idleP99),
    wanted: { what: "ratio", atMost: 2 },
  });
}
