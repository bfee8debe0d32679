/**
 * How fast workspaces come and go, flat below root and in a tree, and what one costs in memory and on disk. Prints; asserts nothing.
 *
 * Memory is what is left after a collection, so it wants `node --expose-gc`. Each round first fills every bounded cache with a round of its
 * own, because these grow once and not with workspaces.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedStorage } from "@kcp-ts/apiserver/storage/embedded";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { kinds, master, WorkspaceFixture } from "./workspace-fixture.ts";

const count = Number(process.env["BENCH_WORKSPACES"] ?? 5000);
const writersAtOnce = 32;

const directory = await mkdtemp(join(tmpdir(), "workspaces-bench-"));
try {
  const storage = await EmbeddedStorage.open({ directory, clock: systemClock, log: () => {} });
  const tenants = await WorkspaceFixture.start({ storage });
  await round(tenants, "warm-up", flat("warm"));
  await round(tenants, "flat", flat("flat"));
  await round(tenants, "tree", tree());
  await tenants.close();
} finally {
  await rm(directory, { recursive: true });
}

type Place = readonly [parent: string, name: string];

function flat(prefix: string): Place[] {
  return Array.from({ length: count }, (_, at) => ["root", `${prefix}-${at}`]);
}

/** Seven below each, as far down as it takes; parents first. */
function tree(): Place[] {
  const places: Place[] = [["root", "tree"]];
  for (let at = 0; places.length < count; at++) {
    const [parent, name] = places[at] as Place;
    for (let child = 0; child < 7 && places.length < count; child++)
      places.push([`${parent}:${name}`, `c${child}`]);
  }
  return places;
}

async function round(
  fixture: WorkspaceFixture,
  name: string,
  places: readonly Place[],
): Promise<void> {
  const before = await memory();
  const diskBefore = diskKiB();
  const creation = await timed(async () => {
    await each(places, ([parent, workspace]) =>
      fixture
        .at(parent, master)
        .resource(kinds.workspaces)
        .create({
          metadata: { name: workspace },
          spec: { type: { name: "universal", path: "root" } },
        } as never),
    );
  });
  const after = await memory();
  const disk = (diskKiB() - diskBefore) / places.length;
  const tops = places.filter(([parent]) => parent === "root");
  const deletion = await timed(async () => {
    await each(tops, ([, workspace]) =>
      fixture.at("root", master).resource(kinds.workspaces).delete({ name: workspace }),
    );
    for (;;) {
      const { items } = await fixture.at("*", master).resource(kinds.workspaces).list({ limit: 1 });
      if (items.length === 0) break;
      await sleep(systemClock, 20);
    }
  });
  const end = await memory();
  const told = ({ ms, cpuMs }: Taken) =>
    `${Math.round((places.length / ms) * 1000)} (${(cpuMs / places.length).toFixed(2)} ms of processor each)`;
  console.log(
    [
      `${name}: ${places.length} workspaces`,
      `ready/s ${told(creation)}`,
      `deleted/s ${told(deletion)}`,
      `KiB each: heap ${((after.heap - before.heap) / 1024 / places.length).toFixed(2)}`,
      `rss ${((after.rss - before.rss) / 1024 / places.length).toFixed(2)}`,
      `disk ${disk.toFixed(2)}`,
      `heap MiB before/after/deleted ${[before, after, end].map(({ heap }) => (heap / (1 << 20)).toFixed(1)).join("/")}`,
    ].join("; "),
  );
}

async function each(places: readonly Place[], body: (place: Place) => Promise<unknown>) {
  let next = 0;
  // Parents are made before what is below them: the tree is walked in order, a little at a time.
  const work = async () => {
    for (;;) {
      const place = places[next++];
      if (place === undefined) return;
      for (let tries = 0; ; tries++) {
        try {
          await body(place);
          break;
        } catch (error) {
          if (tries > 200) throw error;
          await sleep(systemClock, 5);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: writersAtOnce }, work));
}

interface Taken {
  readonly ms: number;
  /** Of the processor: what counts on a machine that is shared. */
  readonly cpuMs: number;
}

async function timed(body: () => Promise<void>): Promise<Taken> {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - startedAt, cpuMs: (user + system) / 1000 };
}

/** After control loops have settled and garbage is gone. */
async function memory(): Promise<{ heap: number; rss: number }> {
  await sleep(systemClock, 1500);
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

function diskKiB(): number {
  return Number(execFileSync("du", ["-sk", directory], { encoding: "utf8" }).split("\t")[0]);
}
