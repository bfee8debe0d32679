/**
 * Measures puts per second and client CPU per put at 64 in flight, against one real etcd with a
 * watch open.
 *
 * Run: node packages/apiserver/dist/storage/etcd/etcd.bench.js [puts]
 */
import { setMaxListeners } from "node:events";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { etcdMissing, startEtcd } from "@kcp-ts/testkit";
import type { StorageKey } from "../key.ts";
import { EtcdStorage } from "./etcd-storage.ts";

const inFlight = 64;
const valueBytes = 1024;

async function main(puts: number): Promise<void> {
  const missing = etcdMissing();
  if (missing !== undefined) return console.log(`skipped: ${missing}`);
  const cluster = await startEtcd();
  const storage = await EtcdStorage.open({
    endpoints: cluster.endpoints,
    clock: systemClock,
    random: systemRandom,
  });
  try {
    await putMany(storage, "/warm/", Math.min(puts, 500));
    const watching = watchMany(storage, puts);
    const put = await measure(() => putMany(storage, "/bench/", puts));
    await watching;
    const list = await measure(() =>
      storage.list("/bench/" as StorageKey, { signal, entriesMax: puts }),
    );
    const ask = await measure(async () => {
      for (let i = 0; i < 20; i++) {
        await Promise.all(Array.from({ length: 500 }, () => storage.currentRevision({ signal })));
      }
    });
    console.log(
      `etcd ${cluster.version}, node ${process.version}, ${puts} puts of ${valueBytes} B`,
    );
    console.log(`put, ${inFlight} in flight: ${rate(puts, put)}`);
    console.log(`list of ${puts}: ${list.wallMs.toFixed(0)} ms, ${list.cpuMs.toFixed(0)} ms CPU`);
    console.log(`currentRevision, 500 at once: ${rate(10_000, ask)}`);
  } finally {
    await storage.close();
    await cluster.dispose();
  }
}

async function putMany(storage: EtcdStorage, prefix: string, count: number): Promise<void> {
  const value = new Uint8Array(valueBytes).fill(120);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const key = `${prefix}${String(next++).padStart(8, "0")}` as StorageKey;
      await storage.commit({ key, value, expected: "absent" }, { signal });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

async function watchMany(storage: EtcdStorage, count: number): Promise<void> {
  const start = await storage.currentRevision({ signal });
  const options = { signal, bufferedChangesMax: count };
  let seen = 0;
  for await (const change of storage.watch("/bench/" as StorageKey, start, options)) {
    if (change.kind !== "progress" && ++seen === count) return;
  }
}

interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function measure(action: () => Promise<unknown>): Promise<Measured> {
  const cpuBefore = process.cpuUsage();
  const before = systemClock.monotonic();
  await action();
  const cpu = process.cpuUsage(cpuBefore);
  return {
    wallMs: systemClock.monotonic() - before,
    cpuMs: (cpu.user + cpu.system) / 1000,
  };
}

function rate(count: number, { wallMs, cpuMs }: Measured): string {
  const perSecond = Math.round((count / wallMs) * 1000);
  return `${perSecond}/s, ${((cpuMs / count) * 1000).toFixed(0)} us CPU each`;
}

const { signal } = new AbortController();
setMaxListeners(0, signal);

await main(Number(process.argv[2] ?? 3000));
