import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { call, collect, fill, key, put, remove, text } from "../contract/storage-contract.ts";
import { revisionZero } from "../revision.ts";
import type { EmbeddedStorage } from "./embedded-storage.ts";
import { FaultyEngineLocation } from "./faulty-engine-location.ts";
import { openTemporary, temporaryDirectory } from "./temporary-store.ts";

describe("recovery of the embedded store", () => {
  for (const writeFailure of ["before", "after"] as const) {
    it(`hides a write that failed ${writeFailure} it was durable, and then shows it if it is there`, async () => {
      await withFaults(async (storage, home, clock) => {
        const first = await storage.commit(put("/a", "1", "absent"), call());
        const watching = collect(storage, "", revisionZero, 3);
        home.writeFailure = writeFailure;
        home.failNextWrite = true;
        const change = storage.commit(put("/a", "2", first), call());
        await assert.rejects(change, { code: "unavailable", message: /the fault: write/ });

        assert.match(storage.health()?.message ?? "", /writing to .* failed: the fault: write/);
        await assert.rejects(storage.commit(put("/b", "1", "absent"), call()), {
          code: "unavailable",
        });
        await assert.rejects(storage.compact(first, call()), { code: "unavailable" });
        assert.equal(text(await storage.get(key("/a"), call())), "1");
        const page = await storage.list(key(""), { ...call(), entriesMax: 10 });
        assert.deepEqual(page.entries.map(text), ["1"]);
        assert.equal(await storage.currentRevision(call()), first);

        await clock.advance(100);
        await healthy(storage);
        const happened = writeFailure === "after";
        assert.equal(text(await storage.get(key("/a"), call())), happened ? "2" : "1");
        const entry = await storage.get(key("/a"), call());
        await storage.commit(remove("/a", entry?.modifiedAt ?? first), call());
        await storage.commit(put("/c", "1", "absent"), call());
        const changes = await watching;
        assert.deepEqual(
          changes.map((seen) => seen.revision),
          [1, 2, 3],
        );
        assert.equal(changes[1]?.kind, happened ? "put" : "delete");
      });
    });
  }

  it("doubles its retry delay after every failed attempt, up to two seconds", async () => {
    await withFaults(async (storage, home, clock) => {
      await fill(storage, ["/a"]);
      home.failNextWrite = true;
      await assert.rejects(storage.commit(put("/b", "1", "absent"), call()));
      for (let attempt = 0; attempt < 8; attempt++) {
        home.failAt = home.operations + 1;
        await clock.advance(clock.delays.at(-1) ?? 0);
        await clock.scheduled(attempt + 2);
        // The files stay open for reads while the disk accepts no writes.
        assert.equal(await storage.count(key(""), call()), 1);
        assert.match(storage.health()?.message ?? "", /reopening .* failed: the fault: probe/);
      }
      assert.deepEqual(clock.delays, [100, 200, 400, 800, 1600, 2000, 2000, 2000, 2000]);
      await clock.advance(2000);
      await healthy(storage);
      await fill(storage, ["/b"]);
    });
  });

  it("can be closed while it retries", async () => {
    await withFaults(async (storage, home) => {
      home.failNextWrite = true;
      await assert.rejects(storage.commit(put("/a", "1", "absent"), call()));
      await storage.close();
      await assert.rejects(storage.get(key("/a"), call()), { code: "closed" });
    });
  });

  it("stops for good when another process has written to the files", async () => {
    await withFaults(async (storage, home, clock) => {
      await fill(storage, ["/a"]);
      home.failNextWrite = true;
      await assert.rejects(storage.commit(put("/b", "1", "absent"), call()));
      const reopen = home.open.bind(home);
      home.open = async () => {
        const stranger = await openTemporary({ directory: home.name });
        await fill(stranger.storage, ["/stranger"]);
        await stranger.storage.close();
        return await reopen();
      };
      await clock.advance(100);
      while (!/another process/.test(storage.health()?.message ?? "")) await turn();
      await assert.rejects(storage.commit(put("/b", "1", "absent"), call()), {
        code: "unavailable",
        message: /another process/,
      });
      assert.deepEqual(clock.delays, [100]);
    });
  });

  it("reports a disk that does not respond, and withdraws the report when the disk responds", async () => {
    await withFaults(async (storage, home, clock) => {
      let answer = () => {};
      home.beforeWrite = () => new Promise((resolve) => (answer = resolve));
      const writing = storage.commit(put("/a", "1", "absent"), call());
      while (home.batches < 2) await turn();
      await clock.advance(9_999);
      assert.equal(storage.health(), undefined);
      await clock.advance(1);
      assert.match(storage.health()?.message ?? "", /waiting for 10 s/);
      answer();
      await writing;
      assert.equal(storage.health(), undefined);
    });
  });
});

async function withFaults(
  body: (storage: EmbeddedStorage, home: FaultyEngineLocation, clock: ManualClock) => Promise<void>,
): Promise<void> {
  const directory = await temporaryDirectory();
  const engineLocation = new FaultyEngineLocation(directory);
  const clock = new ManualClock();
  const { storage, dispose } = await openTemporary({ directory, engineLocation, clock });
  try {
    await body(storage, engineLocation, clock);
    assert.deepEqual(engineLocation.violations, []);
  } finally {
    await dispose();
  }
}

async function healthy(storage: EmbeddedStorage): Promise<void> {
  while (storage.health() !== undefined) await turn();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A clock that stands still until it is advanced, and records the requested delays. */
class ManualClock implements Clock {
  readonly delays: number[] = [];
  readonly #timers = new Map<() => void, number>();
  #time = 0;

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    this.delays.push(delayMs);
    this.#timers.set(callback, this.#time + delayMs);
    return { cancel: () => this.#timers.delete(callback) };
  }

  async advance(ms: number): Promise<void> {
    this.#time += ms;
    for (const [callback, due] of [...this.#timers]) {
      if (due > this.#time) continue;
      this.#timers.delete(callback);
      callback();
    }
    await turn();
  }

  /** Waits until this many timers were set. */
  async scheduled(count: number): Promise<void> {
    while (this.delays.length < count) await turn();
  }
}
