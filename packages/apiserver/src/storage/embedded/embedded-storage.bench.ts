/**
 * Measures the embedded store's operations per second: `node embedded-storage.bench.js [entries]`.
 * Its test runs a tiny size, so that it cannot rot.
 */
import { pathToFileURL } from "node:url";
import { systemClock } from "@kcp-ts/machinery/base";
import { call, key } from "../contract/storage-contract.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { openTemporary } from "./temporary-store.ts";

export interface BenchFigures {
  /** Durable commits per second with 64 in flight: new keys, and updates of cached keys. */
  readonly createsPerSecond: number;
  readonly updatesPerSecond: number;
  readonly sequentialCommitP50Ms: number;
  readonly sequentialCommitP99Ms: number;
  readonly cachedGetsPerSecond: number;
  readonly coldGetsPerSecond: number;
  readonly listColdMs: number;
  /** The maximal delay of a timer during the list. */
  readonly listBlocksMs: number;
  readonly countMs: number;
  readonly replayPerSecond: number;
  readonly openMs: number;
}

export async function benchEmbeddedStorage(entries: number): Promise<BenchFigures> {
  const { directory, storage, dispose } = await openTemporary({ cacheBytesMax: 256 << 20 });
  const keys = Array.from({ length: entries }, (_, i) => benchKey(i));
  const values = Array.from({ length: 1000 }, randomJson);
  const revisions = new Map<StorageKey, Revision>();
  const write = async (name: StorageKey) => {
    const expected = revisions.get(name) ?? "absent";
    const value = values[revisions.size % values.length] as Uint8Array;
    revisions.set(name, await storage.commit({ key: name, value, expected }, call()));
  };
  const createsPerSecond = await perSecond(entries, () => inFlight(64, keys, write));
  const updatesPerSecond = await perSecond(entries, () => inFlight(64, keys, write));

  const latencies: number[] = [];
  for (let i = 0; i < Math.min(500, entries); i++) {
    const start = systemClock.monotonic();
    await write(keys[i] as StorageKey);
    latencies.push(systemClock.monotonic() - start);
  }
  latencies.sort((a, b) => a - b);
  const gets = entries * 10;
  const cachedGetsPerSecond = await perSecond(gets, async () => {
    for (let i = 0; i < gets; i++) await storage.get(keys[i % entries] as StorageKey, call());
  });
  await storage.close();

  const opening = systemClock.monotonic();
  const cold = await EmbeddedStorage.open({ directory, clock: systemClock, cacheBytesMax: 0 });
  const openMs = systemClock.monotonic() - opening;
  const coldGetsPerSecond = await perSecond(entries, () =>
    inFlight(64, keys, async (name) => void (await cold.get(name, call()))),
  );
  const listing = await blocking(() =>
    cold.list(key("/apps/"), { ...call(), entriesMax: Math.min(entries, 10_000) }),
  );
  const counting = await blocking(() => cold.count(key("/apps/"), call()));
  const replayPerSecond = await perSecond(entries * 2, async () => {
    let left = entries * 2;
    const options = { ...call(), bufferedChangesMax: 10 };
    for await (const _ of cold.watch(key("/apps/"), 0 as Revision, options))
      if (--left === 0) break;
  });
  await cold.close();
  await dispose();
  return {
    createsPerSecond,
    updatesPerSecond,
    sequentialCommitP50Ms: percentile(latencies, 0.5),
    sequentialCommitP99Ms: percentile(latencies, 0.99),
    cachedGetsPerSecond,
    coldGetsPerSecond,
    listColdMs: listing.tookMs,
    listBlocksMs: listing.blockedMs,
    countMs: counting.tookMs,
    replayPerSecond,
    openMs,
  };
}

function benchKey(i: number): StorageKey {
  return key(`/apps/deployments//cluster-${i % 1000}/default/deployment-${i}`);
}

let seed = 1;

/** About 1 KB that compresses about as well as an object. */
function randomJson(): Uint8Array {
  let text = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{';
  for (let field = 0; text.length < 1000; field++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    text += `"example.org/field-${field}":"${seed.toString(36)}",`;
  }
  return new TextEncoder().encode(`${text}"a":"b"}}}`);
}

async function inFlight<Item>(
  width: number,
  items: readonly Item[],
  run: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await run(items[next++] as Item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function perSecond(count: number, run: () => Promise<void>): Promise<number> {
  const start = systemClock.monotonic();
  await run();
  return Math.round((count * 1000) / (systemClock.monotonic() - start));
}

async function blocking(
  run: () => Promise<unknown>,
): Promise<{ tookMs: number; blockedMs: number }> {
  const start = systemClock.monotonic();
  let last = start;
  let blockedMs = 0;
  let running = true;
  const watch = () => {
    const now = systemClock.monotonic();
    blockedMs = Math.max(blockedMs, now - last);
    last = now;
    if (running) setImmediate(watch);
  };
  setImmediate(watch);
  await run();
  running = false;
  watch();
  return { tookMs: systemClock.monotonic() - start, blockedMs };
}

function percentile(sorted: readonly number[], fraction: number): number {
  return sorted[Math.floor(sorted.length * fraction)] ?? 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  console.table(await benchEmbeddedStorage(Number(process.argv[2] ?? 100_000)));
}
