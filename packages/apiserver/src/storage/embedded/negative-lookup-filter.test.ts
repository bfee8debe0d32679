import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { call, fill, key, numbered, put, remove } from "../contract/storage-contract.ts";
import type { Storage } from "../storage.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import type { EngineView } from "./engine.ts";
import { FaultyEngineLocation } from "./faulty-engine-location.ts";
import { immediateClock, nextIteration, untilAvailable } from "./immediate-recovery.ts";
import { NegativeLookupFilter } from "./negative-lookup-filter.ts";
import { temporaryDirectory } from "./temporary-store.ts";

describe("keys that are known to be absent", () => {
  it("are not read from the engine once the keys of a busy collection were loaded", async () => {
    const { storage, home, dispose } = await openStore({ missesMin: 8, keysMax: 1000 });
    await fill(storage, numbered("/p/", 300));
    await storage.commit(put("/p/late", "1", "absent"), call());
    const asked = home.operations;
    const batches = home.batches;
    await fill(storage, numbered("/p/new-", 50));
    assert.equal(home.operations - asked, home.batches - batches, "only batches are written");
    await dispose();
  });

  it("are no longer absent when they were written, before, while or after the keys were loaded", async () => {
    const { storage, dispose } = await openStore({ missesMin: 8, keysMax: 1000 });
    const names = numbered("/p/", 200);
    await Promise.all(names.map((name) => storage.commit(put(name, "1", "absent"), call())));
    for (const name of names) await assert.rejects(create(storage, name), { code: "conflict" });
    await dispose();
  });

  it("are absent again when they were deleted", async () => {
    const { storage, dispose } = await openStore({ missesMin: 2, keysMax: 1000 });
    await fill(storage, numbered("/p/", 20));
    const entry = await storage.get(key("/p/0003"), call());
    assert.ok(entry !== undefined);
    await storage.commit(remove("/p/0003", entry.modifiedAt), call());
    await create(storage, "/p/0003");
    await assert.rejects(create(storage, "/p/0003"), { code: "conflict" });
    await dispose();
  });

  it("are unknown in collections with too many keys, and creates go on", async () => {
    const { storage, dispose } = await openStore({ missesMin: 4, keysMax: 10 });
    await fill(storage, numbered("/p/", 100));
    for (const name of numbered("/p/", 100))
      await assert.rejects(create(storage, name), { code: "conflict" });
    await dispose();
  });

  it("are loaded again after a failed batch", async () => {
    const { storage, home, dispose } = await openStore({ missesMin: 2, keysMax: 1000 });
    await fill(storage, numbered("/p/", 20));
    home.failNextWrite = true;
    home.writeFailure = "after";
    await assert.rejects(create(storage, "/p/unknown"), { code: "unavailable" });
    await untilAvailable(() => create(storage, "/p/more"));
    await assert.rejects(create(storage, "/p/unknown"), { code: "conflict" });
    await dispose();
  });

  it("one creator wins, for all concurrent creates and deletes", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = new SeededRandom(seed);
      const { storage, dispose } = await openStore({ missesMin: 3, keysMax: 12 });
      const present = new Set<string>();
      for (let round = 0; round < 30; round++) {
        const names = Array.from({ length: 12 }, () => `/p/${random.integer(20)}`);
        const results = await Promise.allSettled(names.map((name) => create(storage, name)));
        for (const name of new Set(names)) {
          const won = results.filter((r, i) => names[i] === name && r.status === "fulfilled");
          assert.equal(won.length, present.has(name) ? 0 : 1, `seed ${seed}: ${name}`);
          present.add(name);
        }
        for (const name of [...present].filter(() => random.next() < 0.4)) {
          const entry = await storage.get(key(name), call());
          assert.ok(entry !== undefined);
          await storage.commit(remove(name, entry.modifiedAt), call());
          present.delete(name);
        }
      }
      await dispose();
    }
  });

  it("are unknown until the keys are loaded, and when loading fails", async () => {
    const absent = new NegativeLookupFilter({ missesMin: 1, keysMax: 10 });
    let fail = (_error: Error) => {};
    const reading = new Promise<readonly (readonly [string, Buffer])[]>((_, reject) => {
      fail = reject;
    });
    absent.noteMiss(key("/p/a"));
    absent.loadDueCollections(() => engineOf(() => reading));
    assert.equal(absent.isAbsent(key("/p/b")), false);
    fail(new Error("no such file"));
    await nextIteration();
    assert.equal(absent.isAbsent(key("/p/b")), false);
    absent.noteMiss(key("/p/a"));
    absent.loadDueCollections(() => engineOf(async () => []));
    await nextIteration();
    assert.equal(absent.isAbsent(key("/p/b")), true);
    absent.noteCreate(key("/p/b"));
    assert.equal(absent.isAbsent(key("/p/b")), false);
    assert.equal(absent.isAbsent(key("/q/b")), false);
    absent.clear();
    assert.equal(absent.isAbsent(key("/p/c")), false);
  });
});

function create(storage: Storage, name: string): Promise<unknown> {
  return storage.commit(put(name, "1", "absent"), call());
}

function engineOf(next: () => Promise<readonly (readonly [string, Buffer])[]>): EngineView {
  return {
    get: async () => undefined,
    getMany: async () => [],
    scan: () => ({ next, close: async () => undefined }),
  };
}

async function openStore(negativeLookups: { missesMin: number; keysMax: number }) {
  const directory = await temporaryDirectory();
  const home = new FaultyEngineLocation(directory);
  const storage = await EmbeddedStorage.open({
    directory,
    clock: immediateClock,
    engineLocation: home,
    negativeLookups,
  });
  const dispose = async () => {
    await storage.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { storage, home, dispose };
}
