/**
 * Goal: whichever engine operation fails, no acknowledged write is lost, none is torn, and watches
 * get exactly the changes that happened. Method: one scripted workload, run repeatedly with the
 * first, the second, the third... operation failing, until a run ends without reaching the fault. A
 * failing write fails before or after it became durable.
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { DataChange } from "../change-feed.ts";
import { call, collect, key, put, remove, text } from "../contract/storage-contract.ts";
import { isStorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { type Revision, revisionZero } from "../revision.ts";
import type { Entry, Write } from "../storage.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { FaultyEngineLocation } from "./faulty-engine-location.ts";
import { immediateClock, nextIteration, untilAvailable } from "./immediate-recovery.ts";
import { temporaryDirectory } from "./temporary-store.ts";

describe("the embedded store with a failing operation", () => {
  for (const writeFailure of ["before", "after"] as const) {
    it(`keeps every promise when any one operation fails, writes ${writeFailure} they are durable`, async () => {
      let reached = true;
      let faults = 0;
      for (let failAt = 1; reached; failAt++) {
        const run = await Run.start(failAt, writeFailure);
        try {
          await run.workload();
          await run.check();
        } catch (error) {
          throw new Error(`with operation ${failAt} failing: ${(error as Error).message}`, {
            cause: error,
          });
        } finally {
          await run.dispose();
        }
        reached = run.home.operations >= failAt;
        if (reached) faults++;
      }
      assert.ok(faults > 100, `only ${faults} operations failed: the workload is too small`);
    });
  }
});

interface Acknowledged {
  readonly write: Write;
  readonly revision: Revision;
}

class Run {
  readonly home: FaultyEngineLocation;
  readonly #storage: EmbeddedStorage;
  readonly #acknowledged: Acknowledged[] = [];
  /** The revisions that are known to be stored, by key. */
  readonly #known = new Map<StorageKey, Revision>();
  readonly #watched: DataChange[] = [];
  readonly #stopWatching = new AbortController();
  readonly #watching: Promise<void>;

  static async start(failAt: number, writeFailure: "before" | "after"): Promise<Run> {
    const engineLocation = new FaultyEngineLocation(await temporaryDirectory());
    engineLocation.failAt = failAt;
    engineLocation.writeFailure = writeFailure;
    const options = {
      directory: engineLocation.name,
      engineLocation,
      clock: immediateClock,
      // A tiny cache, so that reads go to the engine.
      cacheBytesMax: 700,
      tailChangesMax: 3,
      negativeLookups: { missesMin: 2, keysMax: 100 },
    };
    const storage = await untilAvailable(() => EmbeddedStorage.open(options));
    return new Run(engineLocation, storage);
  }

  constructor(home: FaultyEngineLocation, storage: EmbeddedStorage) {
    this.home = home;
    this.#storage = storage;
    this.#watching = this.#watch();
  }

  async workload(): Promise<void> {
    const names = ["/p/a", "/p/b", "/p/c", "/q/d"];
    for (const name of names) await this.#put(name, `${name} 1`);
    await Promise.all(names.map((name) => this.#put(name, `${name} 2`)));
    await this.#reads(3 as Revision);
    await this.#remove("/p/b");
    await Promise.all([this.#put("/p/e", "e 1"), this.#remove("/p/c"), this.#put("/p/a", "a 3")]);
    await this.#compact(2 as Revision);
    await this.#put("/p/b", "b again");
    await this.#reads(6 as Revision);
    await Promise.all(names.map((name) => this.#put(name, `${name} 4`)));
    await this.#compact(7 as Revision);
    await this.#reads(8 as Revision);
    await this.#remove("/q/d");
  }

  /** Reads must be right or rejected, also while the store recovers. */
  async #reads(atRevision: Revision): Promise<void> {
    const listed = await this.#read(() =>
      this.#storage.list(key(""), { ...call(), entriesMax: 100 }),
    );
    const actual = listed.entries.map((entry) => [entry.key, entry.modifiedAt]);
    assert.deepEqual(actual, [...this.#known].sort(byKey));
    const page = await this.#read(() =>
      this.#storage.list(key("/p/"), { ...call(), entriesMax: 2, atRevision }),
    );
    const count = await this.#read(() =>
      this.#storage.count(key("/p/"), { ...call(), atRevision }),
    );
    for (const entry of page.entries) {
      assert.ok(entry.modifiedAt <= atRevision);
      const single = await this.#read(() =>
        this.#storage.get(entry.key, { ...call(), atRevision }),
      );
      assert.deepEqual(single, entry);
    }
    assert.equal(page.more, count > 2);
  }

  #read<T>(read: () => Promise<T>): Promise<T> {
    return untilAvailable(read);
  }

  async #compact(revision: Revision): Promise<void> {
    while (this.#lastWatched() < revision) await nextIteration();
    await untilAvailable(() => this.#storage.compact(revision, call()));
  }

  #put(name: string, value: string): Promise<void> {
    return this.#commit(put(name, value, this.#known.get(key(name)) ?? "absent"));
  }

  #remove(name: string): Promise<void> {
    return this.#commit(remove(name, this.#known.get(key(name)) as Revision));
  }

  /** Retries until the write has happened, and records its revision. */
  async #commit(write: Write): Promise<void> {
    for (;;) {
      try {
        this.#took(write, await this.#storage.commit(write, call()));
        return;
      } catch (error) {
        if (!isStorageError(error, "unavailable")) throw error;
      }
      await this.#healthy();
      const found = await this.#read(() => this.#storage.get(write.key, call()));
      if (found?.modifiedAt === (write.expected === "absent" ? undefined : write.expected))
        continue;
      // The write was rejected, but it happened, and completely.
      assert.equal(text(found), write.value === "delete" ? undefined : decode(write.value));
      if (found === undefined) this.#known.delete(write.key);
      else this.#known.set(write.key, found.modifiedAt);
      return;
    }
  }

  #took(write: Write, revision: Revision): void {
    this.#acknowledged.push({ write, revision });
    if (write.value === "delete") this.#known.delete(write.key);
    else this.#known.set(write.key, revision);
  }

  async #healthy(): Promise<void> {
    for (let turns = 0; this.#storage.health() !== undefined; turns++) {
      assert.ok(turns < 5_000_000, `no recovery: ${this.#storage.health()?.message}`);
      await nextIteration();
    }
  }

  #lastWatched(): Revision {
    return this.#watched.at(-1)?.revision ?? revisionZero;
  }

  /** Reads all changes from the beginning, and resumes after a failed read. */
  async #watch(): Promise<void> {
    const options = { signal: this.#stopWatching.signal, bufferedChangesMax: 1000 };
    while (!options.signal.aborted) {
      try {
        const changes = this.#storage.watch(key(""), this.#lastWatched(), options);
        for await (const change of changes) {
          if (change.kind !== "progress") this.#watched.push(change);
        }
      } catch (error) {
        if (options.signal.aborted) return;
        if (!isStorageError(error, "unavailable")) throw error;
        await nextIteration();
      }
    }
  }

  async check(): Promise<void> {
    await this.#healthy();
    const revision = await this.#storage.currentRevision(call());
    while (this.#lastWatched() < revision) await nextIteration();
    this.#stopWatching.abort();
    await this.#watching;
    this.#checkWatched(revision);
    await this.#checkState(this.#storage, revision);
    await this.#storage.close();

    const again = await EmbeddedStorage.open({ directory: this.home.name, clock: systemClock });
    try {
      await this.#checkState(again, revision);
      const kept = this.#watched.filter((change) => change.revision > 7);
      assert.deepEqual(await collect(again, "", 7 as Revision, kept.length), kept);
    } finally {
      await again.close();
    }
    assert.deepEqual(this.home.violations, []);
  }

  /**
   * Without gaps, each change fits the one before, and every acknowledged write is the change at
   * its revision.
   */
  #checkWatched(revision: Revision): void {
    const state = new Map<StorageKey, Entry>();
    for (const [at, change] of this.#watched.entries()) {
      assert.equal(change.revision, at + 1);
      const changed = change.kind === "put" ? change.entry.key : change.previous.key;
      assert.deepEqual(change.previous, state.get(changed));
      if (change.kind === "put") state.set(changed, change.entry);
      else state.delete(changed);
    }
    assert.equal(this.#watched.length, revision);
    for (const { write, revision: at } of this.#acknowledged) {
      const change = this.#watched[at - 1] as DataChange;
      const value = change.kind === "put" ? text(change.entry) : "delete";
      assert.equal(value, write.value === "delete" ? "delete" : decode(write.value));
    }
    const known = [...state.values()].map((entry) => [entry.key, entry.modifiedAt]);
    assert.deepEqual(known.sort(), [...this.#known].sort());
  }

  async #checkState(storage: EmbeddedStorage, revision: Revision): Promise<void> {
    const page = await this.#read(() => storage.list(key(""), { ...call(), entriesMax: 100 }));
    assert.equal(page.revision, revision);
    const actual = page.entries.map((entry) => [entry.key, entry.modifiedAt]);
    assert.deepEqual(actual, [...this.#known].sort(byKey));
  }

  async dispose(): Promise<void> {
    this.#stopWatching.abort();
    await this.#storage.close();
    await rm(this.home.name, { recursive: true, force: true });
  }
}

function decode(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}

function byKey(a: readonly [string, number], b: readonly [string, number]): number {
  return a[0] < b[0] ? -1 : 1;
}
