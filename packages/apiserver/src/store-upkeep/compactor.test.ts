/**
 * History is compacted by age and by size, on every backend, and also when the server is restarted
 * repeatedly.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { etcdMissing, FakeClock, startEtcd } from "@kcp-ts/testkit";
import { EmbeddedStorage } from "../storage/embedded/index.ts";
import { EtcdStorage } from "../storage/etcd/index.ts";
import { isStorageError, type Revision, type Storage, type StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { supervisorFor } from "../testing/index.ts";
import { Compactor, type CompactorOptions } from "./compactor.ts";

const key = (text: string) => text as StorageKey;
const call = () => ({ signal: new AbortController().signal });

const policy = { ageMs: 300_000, bytesMax: 100_000, intervalMs: 30_000 };

/** A compactor whose ticks a test counts. */
async function compacting(
  storage: Storage,
  clock: FakeClock,
  overrides: Partial<CompactorOptions["policy"]> = {},
) {
  let bytes = 0;
  let revision = await storage.currentRevision(call());
  const errors: unknown[] = [];
  const compactor = new Compactor({
    storage,
    clock,
    supervisor: supervisorFor(clock),
    progress: () => ({ revision, bytes }),
    onError: (error) => errors.push(error),
    policy: { ...policy, ...overrides },
  });
  compactor.start();
  return {
    write: async (name: string, length = 1) => {
      revision = await overwrite(storage, name, length);
      bytes += length;
      return revision;
    },
    /** Waits until the tick's work is done, which the next timer shows. */
    pass: async (ms: number) => {
      for (let left = ms; left > 0; left -= policy.intervalMs) {
        clock.advance(policy.intervalMs);
        while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      assert.deepEqual(errors, []);
    },
    stop: () => compactor.stop(),
  };
}

async function overwrite(storage: Storage, name: string, length: number): Promise<Revision> {
  const current = await storage.get(key(name), call());
  const expected = current?.modifiedAt ?? "absent";
  return storage.commit({ key: key(name), value: Buffer.alloc(length, "x"), expected }, call());
}

async function isForgotten(storage: Storage, atRevision: Revision): Promise<boolean> {
  try {
    await storage.get(key("/a"), { ...call(), atRevision });
    return false;
  } catch (error) {
    if (isStorageError(error, "compacted")) return true;
    throw error;
  }
}

const backends: [name: string, skip: string | false, open: (t: TestContext) => Promise<Storage>][] =
  [
    ["memory", false, async () => new MemoryStorage()],
    ["embedded", false, async (t) => openEmbedded(await directoryFor(t))],
    [
      "etcd",
      etcdMissing() ?? false,
      async (t) => {
        const cluster = await startEtcd();
        t.after(() => cluster.dispose());
        const { endpoints } = cluster;
        return EtcdStorage.open({ endpoints, clock: systemClock, random: systemRandom });
      },
    ],
  ];

async function directoryFor(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "kcp-compactor-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const openEmbedded = (directory: string) => EmbeddedStorage.open({ directory, clock: systemClock });

for (const [name, skip, open] of backends)
  describe(`history in ${name} storage`, { skip }, () => {
    it("is compacted when it is old, and not before", async (t) => {
      const storage = await open(t);
      const clock = new FakeClock();
      const running = await compacting(storage, clock);
      const old = await running.write("/a");
      await running.pass(120_000);
      const young = await running.write("/a");
      await running.write("/a");
      await running.pass(180_000);
      assert.equal(await isForgotten(storage, old), false);
      await running.pass(60_000);
      assert.equal(await isForgotten(storage, (old - 1) as Revision), true);
      assert.equal(await isForgotten(storage, young), false);
      await running.pass(120_000);
      assert.equal(await isForgotten(storage, young), true);
      await running.stop();
      await storage.close();
    });

    it("is compacted when it is large, at any age", async (t) => {
      const storage = await open(t);
      const clock = new FakeClock();
      const running = await compacting(storage, clock);
      const first = await running.write("/a");
      await running.pass(30_000);
      for (let i = 0; i < 3; i++) await running.write("/a", 40_000);
      assert.equal(await isForgotten(storage, first), false);
      await running.pass(30_000);
      assert.equal(await isForgotten(storage, (first - 1) as Revision), true);
      await running.stop();
      await storage.close();
    });
  });

describe("history of a server that is restarted every two minutes", () => {
  it("is compacted when it is old", async (t) => {
    const directory = await directoryFor(t);
    const clock = new FakeClock();
    const revisions: Revision[] = [];
    for (let round = 0; round < 5; round++) {
      const storage = await openEmbedded(directory);
      const running = await compacting(storage, clock);
      revisions.push(await running.write("/a"));
      await running.pass(120_000);
      const forgotten = await Promise.all(revisions.map((each) => isForgotten(storage, each)));
      // Ten minutes, of which the last five are kept.
      if (round === 4) assert.deepEqual(forgotten, [true, true, false, false, false]);
      await running.stop();
      await storage.close();
    }
  });

  it("is compacted when it is large", async (t) => {
    const directory = await directoryFor(t);
    const clock = new FakeClock();
    const revisions: Revision[] = [];
    for (let round = 0; round < 5; round++) {
      const storage = await openEmbedded(directory);
      const running = await compacting(storage, clock, { ageMs: Number.MAX_SAFE_INTEGER });
      revisions.push(await running.write("/a", 40_000));
      await running.pass(60_000);
      await running.stop();
      await storage.close();
    }
    const storage = await openEmbedded(directory);
    assert.equal(await isForgotten(storage, revisions[0] as Revision), true);
    assert.equal(await isForgotten(storage, revisions[4] as Revision), false);
    await storage.close();
  });

  it("is compacted when it is large and its age is unknown", async (t) => {
    const directory = await directoryFor(t);
    const before = await openEmbedded(directory);
    for (let i = 0; i < 5; i++) await overwrite(before, "/a", 40_000);
    await before.close();
    const storage = await openEmbedded(directory);
    const running = await compacting(storage, new FakeClock());
    await running.pass(30_000);
    assert.equal(await isForgotten(storage, 2 as Revision), true);
    await running.stop();
    await storage.close();
  });
});
