/**
 * A load for tests of failures: writers that record their acknowledgements, and a watch over all
 * keys.
 *
 * Several writers create keys in sequence and increment a common one. In the end the stored
 * entries, the acknowledgements and the watch's changes must agree.
 */
import assert from "node:assert/strict";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { call, key, put, text } from "../contract/storage-contract.ts";
import { isStorageError } from "../errors.ts";
import type { Revision } from "../revision.ts";
import type { Storage } from "../storage.ts";

const writerCount = 8;
const lastName = "/last";

interface Seen {
  readonly revision: Revision;
  readonly name: string;
  readonly previous: Revision | undefined;
}

export class WriteLoad {
  readonly #storage: Storage;
  readonly #start: Revision;
  readonly #acknowledged = new Map<string, Revision>();
  readonly #unknown = new Set<string>();
  readonly #counter = { acknowledged: 0, unknown: 0 };
  readonly #seen: Seen[] = [];
  readonly #watching: Promise<void>;
  readonly #writing: Promise<unknown>;
  #stopped = false;

  private constructor(storage: Storage, start: Revision) {
    this.#storage = storage;
    this.#start = start;
    this.#watching = this.#watch();
    this.#writing = Promise.all(Array.from({ length: writerCount }, (_, i) => this.#write(i)));
    // The caller of the load's end gets the error; until then it only stops the load.
    const stop = () => {
      this.#stopped = true;
    };
    this.#watching.catch(stop);
    this.#writing.catch(stop);
  }

  static async start(storage: Storage): Promise<WriteLoad> {
    return new WriteLoad(storage, await storage.currentRevision(call()));
  }

  /** Resolves when this many keys were acknowledged. */
  async until(count: number): Promise<void> {
    const deadlineMs = systemClock.monotonic() + 60_000;
    while (this.#acknowledged.size < count) {
      if (this.#stopped) await Promise.all([this.#writing, this.#watching]);
      const { size } = this.#acknowledged;
      assert.ok(systemClock.monotonic() < deadlineMs, `only ${size} writes succeeded`);
      await sleep(systemClock, 10);
    }
  }

  /**
   * Ends the load and compares the acknowledgements, the stored entries and the watch's changes.
   */
  async check(): Promise<void> {
    this.#stopped = true;
    await this.#writing;
    await this.#checkKeys();
    await this.#checkCounter();
    await this.#checkWatch();
  }

  async #write(writer: number): Promise<void> {
    for (let i = 0; !this.#stopped; i++) {
      const name = `/load/${writer}-${i}`;
      try {
        const revision = await this.#storage.commit(put(name, contentOf(name), "absent"), call());
        this.#acknowledged.set(name, revision);
        if (i % 4 === 0) await this.#increment();
      } catch (error) {
        // A key is written only once, so a conflict would mean that a write was retried
        // unexpectedly.
        if (!isStorageError(error, "unavailable")) throw error;
        if (!this.#acknowledged.has(name)) this.#unknown.add(name);
        await sleep(systemClock, 20);
      }
    }
  }

  async #increment(): Promise<void> {
    const entry = await this.#storage.get(key("/counter"), call());
    const value = String(Number(text(entry) ?? 0) + 1);
    try {
      await this.#storage.commit(put("/counter", value, entry?.modifiedAt ?? "absent"), call());
      this.#counter.acknowledged++;
    } catch (error) {
      if (isStorageError(error, "unavailable")) this.#counter.unknown++;
      else if (!isStorageError(error, "conflict")) throw error;
    }
  }

  async #watch(): Promise<void> {
    const options = { ...call(), bufferedChangesMax: 100_000 };
    for await (const change of this.#storage.watch(key(""), this.#start, options)) {
      if (change.kind === "progress") continue;
      assert.ok(change.kind === "put", "nothing was deleted");
      const { revision, previous } = change;
      const name = change.entry.key;
      this.#seen.push({ revision, name, previous: previous?.modifiedAt });
      if (name === lastName) return;
    }
  }

  async #checkKeys(): Promise<void> {
    const { entries } = await this.#storage.list(key("/load/"), { ...call(), entriesMax: 100_000 });
    const there = new Map(entries.map((entry) => [entry.key as string, entry]));
    for (const [name, revision] of this.#acknowledged) {
      assert.equal(there.get(name)?.modifiedAt, revision, `${name} is not as acknowledged`);
    }
    for (const [name, entry] of there) {
      assert.equal(text(entry), contentOf(name));
      const expected = this.#acknowledged.has(name) || this.#unknown.has(name);
      assert.ok(expected, `${name} came from nowhere`);
    }
  }

  async #checkCounter(): Promise<void> {
    const value = Number(text(await this.#storage.get(key("/counter"), call())) ?? 0);
    const { acknowledged, unknown } = this.#counter;
    assert.ok(value >= acknowledged, `${acknowledged} increments became ${value}`);
    assert.ok(value <= acknowledged + unknown, `${acknowledged}+${unknown} became ${value}`);
  }

  /**
   * The watch's history must be the store's: each put once, in order, each update with its previous
   * entry.
   */
  async #checkWatch(): Promise<void> {
    await this.#storage.commit(put(lastName, "end", "absent"), call());
    await this.#watching;
    let before = this.#start;
    const latest = new Map<string, Revision>();
    for (const { revision, name, previous } of this.#seen) {
      assert.ok(revision > before, `revision ${revision} came after ${before}`);
      assert.equal(previous, latest.get(name), `${name} at ${revision} skipped a change`);
      before = revision;
      latest.set(name, revision);
    }
    const { entries } = await this.#storage.list(key(""), { ...call(), entriesMax: 100_000 });
    assert.deepEqual(
      [...latest].sort(([a], [b]) => (a < b ? -1 : 1)),
      entries.map((entry) => [entry.key as string, entry.modifiedAt]),
    );
  }
}

function contentOf(name: string): string {
  return `${name}:${"x".repeat(500)}`;
}
