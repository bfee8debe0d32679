/**
 * Goal: a list says what is stored at its revision, whatever part of it is in memory. Method:
 * seeded random writes to a store and to a memory store beside it, which is the reference; random
 * lists of clusters and namespaces, in pages, by label and at revisions, through caches of several
 * sizes.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { etcdMissing, startEtcd } from "@kcp-ts/testkit";
import { EmbeddedStorage } from "../storage/embedded/index.ts";
import { EtcdStorage } from "../storage/etcd/index.ts";
import type { Entry, Revision, Storage, StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, SeededRandom, supervisorFor } from "../testing/index.ts";
import type { IndexLookup } from "./entry-index.ts";
import type { ListResult } from "./object-reader.ts";
import { WatchCache } from "./watch-cache.ts";

const { signal } = new AbortController();
const clusters = ["a", "b"] as const;
const namespaces = ["m", "m-1", "n", ""] as const;

/** The first byte of a value stands for a label. */
function lookup(value: string): IndexLookup {
  return { name: "label", value, valueIn: ({ value: bytes }: Entry) => String(bytes[0]) };
}

class History {
  readonly #random: SeededRandom;
  readonly #reference = new MemoryStorage();
  readonly #storage: Storage;
  readonly #clock = new FakeClock();
  readonly #cache: WatchCache;
  cachedLists = 0;
  /** The revisions of each write in the store and in the reference. */
  readonly #revisions: (readonly [Revision, Revision])[] = [];
  #namesMax = 40;

  constructor(storage: Storage, seed: number, collectionBytesMax: number) {
    this.#random = new SeededRandom(seed);
    this.#storage = storage;
    const clock = this.#clock;
    const supervisor = supervisorFor(clock);
    const onError = (error: unknown) => assert.fail(String(error));
    this.#cache = new WatchCache({ storage, clock, supervisor, onError, collectionBytesMax });
    this.#cache.onCachedList = () => this.cachedLists++;
  }

  async run(steps: number): Promise<void> {
    await this.#cache.start();
    // Enough objects in one namespace for an index.
    for (let i = 0; i < 300; i++) await this.#write("a", "n", `x${i}`);
    this.#namesMax = 320;
    for (let step = 0; step < steps; step++) {
      const action = this.#random.below(10);
      if (action < 4) await this.#writeAny();
      else if (action < 9) await this.#list();
      else if (this.#random.below(4) === 0) this.#sweep();
    }
    await this.#cache.close();
  }

  #sweep(): void {
    this.#clock.advance(121_000);
    this.#cache.collections.sweep();
  }

  #writeAny(): Promise<void> {
    const name = `x${this.#random.below(this.#namesMax)}`;
    return this.#write(this.#random.pick(clusters), this.#random.pick(namespaces), name);
  }

  async #write(cluster: string, namespace: string, name: string): Promise<void> {
    const key = `/g/r//${cluster}/${namespace}/${name}` as StorageKey;
    const known = await this.#reference.get(key, { signal });
    const isDeletion = known !== undefined && this.#random.below(2) === 0;
    const value = Buffer.alloc(1 + this.#random.below(200), this.#random.below(3));
    const expected = known?.modifiedAt ?? "absent";
    const write = { key, value: isDeletion ? ("delete" as const) : value, expected } as const;
    const inReference = await this.#reference.commit(write, { signal });
    const stored = { ...write, expected: this.#inStore(expected) };
    this.#revisions.push([await this.#storage.commit(stored, { signal }), inReference]);
  }

  #inStore(expected: Revision | "absent"): Revision | "absent" {
    if (expected === "absent") return expected;
    const found = this.#revisions.find(([, inReference]) => inReference === expected);
    return (found as readonly [Revision, Revision])[0];
  }

  async #list(): Promise<void> {
    const collection = `/g/r//${this.#random.pick(clusters)}/` as StorageKey;
    const isWhole = this.#random.below(3) === 0;
    const namespace = this.#random.pick(namespaces);
    const prefix = isWhole ? collection : (`${collection}${namespace}/` as StorageKey);
    const label = this.#random.below(2) === 0 ? String(this.#random.below(4)) : undefined;
    const limit = this.#random.pick([0, 1, 7, 50, 400]);
    let page = await this.#page({ collection, prefix, label, limit }, undefined);
    // Some readers stop after a few pages, and others write between two of them.
    while (page.continueAfter !== undefined && this.#random.below(8) > 0) {
      if (this.#random.below(3) === 0) await this.#writeAny();
      page = await this.#page({ collection, prefix, label, limit }, page);
    }
  }

  async #page(
    list: {
      readonly collection: StorageKey;
      readonly prefix: StorageKey;
      readonly label: string | undefined;
      readonly limit: number;
    },
    before: ListResult | undefined,
  ): Promise<ListResult> {
    const { collection, prefix, label, limit } = list;
    const matches = ({ value }: Entry) => String(value[0]) === label;
    const selection = label === undefined ? undefined : { matches, lookups: [lookup(label)] };
    const page = await this.#cache.list({
      ...{ prefix, collection, selection, limit, signal },
      continueAfter: before?.continueAfter,
      remaining: before?.remaining,
      freshness:
        before === undefined ? { kind: "latest" } : { kind: "exact", revision: before.revision },
    });
    const entries: Entry[] = [];
    if (Symbol.asyncIterator in page.entries) {
      for await (const batch of page.entries) entries.push(...batch);
    } else {
      entries.push(...page.entries);
    }
    const rest = await this.#expected(prefix, page, before);
    const expected = selection === undefined ? rest : rest.filter(matches);
    const wanted = limit === 0 ? expected : expected.slice(0, limit);
    assert.deepEqual(entries.map(identity), wanted.map(identity));
    const isMore = limit > 0 && expected.length > limit;
    // A page by label may say that more follow when none of these are selected.
    if (selection === undefined) {
      assert.equal(page.continueAfter, isMore ? wanted.at(-1)?.key : undefined);
      assert.equal(page.remaining, isMore ? expected.length - limit : undefined);
    } else if (isMore) {
      assert.equal(page.continueAfter, wanted.at(-1)?.key);
    }
    return page;
  }

  async #expected(prefix: StorageKey, page: ListResult, before: ListResult | undefined) {
    const { revision } = page;
    if (before !== undefined) assert.equal(revision, before.revision);
    const atRevision = this.#revisions.findLast(([inStore]) => inStore <= revision)?.[1];
    const continueAfter = before?.continueAfter;
    const options = { signal, atRevision, continueAfter, entriesMax: 10_000 };
    return (await this.#reference.list(prefix, options)).entries;
  }
}

function identity({ key, value }: Entry): string {
  return `${key} ${Buffer.from(value).toString("latin1")}`;
}

/** No collection fits; a namespace fits; some fit together; all fit. */
const budgets = [0, 60_000, 200_000, 4 << 20];

describe("a list", () => {
  it("in memory storage says what is stored, for many random histories", async () => {
    let cached = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const history = new History(new MemoryStorage(), seed, budgets[seed % 4] as number);
      await history.run(250);
      cached += history.cachedLists;
    }
    assert.ok(cached > 500, `${cached} lists came from memory: the test tests less than it says`);
  });

  it("in embedded storage says what is stored, for many random histories", async () => {
    for (let seed = 101; seed <= 106; seed++) {
      const directory = await mkdtemp(join(tmpdir(), "kcp-lists-"));
      const limits = { cacheBytesMax: 4000, tailChangesMax: 20 };
      const storage = await EmbeddedStorage.open({ directory, clock: new FakeClock(), ...limits });
      try {
        await new History(storage, seed, budgets[seed % 4] as number).run(120);
      } finally {
        await storage.close();
        await rm(directory, { recursive: true, force: true });
      }
    }
  });

  it("in etcd says what is stored, for many random histories", {
    skip: etcdMissing() ?? false,
  }, async () => {
    const cluster = await startEtcd();
    try {
      for (let seed = 201; seed <= 204; seed++) {
        const { endpoints } = cluster;
        const stores = { clock: systemClock, random: systemRandom, prefix: `/lists-${seed}` };
        const storage = await EtcdStorage.open({ endpoints, ...stores });
        await new History(storage, seed, budgets[seed % 4] as number).run(60);
        await storage.close();
      }
    } finally {
      await cluster.dispose();
    }
  });
});
