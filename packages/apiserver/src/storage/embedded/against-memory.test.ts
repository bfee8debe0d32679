/**
 * The embedded store and the memory store give the same results, for all writes, reads, watches and
 * compactions, and across restarts.
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import fc from "fast-check";
import { call, collect, key } from "../contract/storage-contract.ts";
import { MemoryStorage } from "../memory/index.ts";
import type { Revision } from "../revision.ts";
import type { Entry, Storage, Write } from "../storage.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { temporaryDirectory } from "./temporary-store.ts";

const names = ["/a", "/a-b", "/a/x", "/a/y", "/b/x", "/b0"];
const prefixes = ["", "/", "/a", "/a/", "/b/", "/none"];

type Step =
  | { readonly do: "put" | "create" | "remove"; readonly name: number; readonly size: number }
  | { readonly do: "read"; readonly prefix: number; readonly back: number; readonly max: number }
  | { readonly do: "watch"; readonly prefix: number; readonly back: number }
  | { readonly do: "compact"; readonly back: number }
  | { readonly do: "restart" };

const index = fc.nat({ max: names.length - 1 });
const back = fc.nat({ max: 30 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("put"), name: index, size: fc.nat(50) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("create"), name: index, size: fc.nat(50) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("remove"), name: index, size: fc.nat(1) }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("read"), prefix: index, back, max: fc.nat(7) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("watch"), prefix: index, back }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact"), back }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart") }) },
) as fc.Arbitrary<Step>;

describe("the embedded store beside the memory store", () => {
  it("gives the same results", async () => {
    const steps = fc.array(step, { minLength: 20, maxLength: 80 });
    const tailChangesMax = fc.constantFrom(0, 4, 1000);
    await fc.assert(
      fc.asyncProperty(steps, tailChangesMax, async (script, tail) => {
        const pair = await Pair.open(tail);
        try {
          for (const each of script) await pair.play(each);
        } finally {
          await pair.dispose();
        }
      }),
      { numRuns: 60 },
    );
  });
});

class Pair {
  readonly #memory = new MemoryStorage();
  readonly #directory: string;
  readonly #tailChangesMax: number;
  #embedded: EmbeddedStorage;
  #writes = 0;

  static async open(tailChangesMax: number): Promise<Pair> {
    const directory = await temporaryDirectory();
    return new Pair(directory, tailChangesMax, await openAt(directory, tailChangesMax));
  }

  constructor(directory: string, tailChangesMax: number, embedded: EmbeddedStorage) {
    this.#directory = directory;
    this.#tailChangesMax = tailChangesMax;
    this.#embedded = embedded;
  }

  async play(each: Step): Promise<void> {
    if (each.do === "put" || each.do === "create" || each.do === "remove")
      await this.#write(each.do, each.name, each.size);
    else if (each.do === "read")
      await this.#reads(each.prefix, await this.#ago(each.back), each.max);
    else if (each.do === "watch") await this.#watch(each.prefix, await this.#ago(each.back));
    else if (each.do === "compact") {
      const revision = await this.#ago(each.back);
      await this.#same((storage) => storage.compact(revision, call()));
    } else {
      await this.#embedded.close();
      this.#embedded = await openAt(this.#directory, this.#tailChangesMax);
    }
  }

  async #write(kind: "put" | "create" | "remove", name: number, size: number): Promise<void> {
    const at = key(names[name] as string);
    const current = (await this.#memory.get(at, call()))?.modifiedAt ?? "absent";
    const expected = kind === "create" ? "absent" : current;
    const value = new Uint8Array(size).fill(this.#writes++);
    const write: Write = { key: at, value: kind === "remove" ? "delete" : value, expected };
    await this.#same((storage) => storage.commit(write, call()));
  }

  async #reads(prefix: number, atRevision: Revision, entriesMax: number): Promise<void> {
    const under = key(prefixes[prefix] as string);
    const continueAfter = entriesMax % 2 === 0 ? undefined : key(names[entriesMax % 6] as string);
    for (const at of [atRevision, undefined]) {
      const options = { ...call(), atRevision: at, continueAfter };
      await this.#same((storage) => storage.list(under, { ...options, entriesMax }));
      await this.#same((storage) => storage.count(under, options));
      for (const name of names) await this.#same((storage) => storage.get(key(name), options));
    }
  }

  async #watch(prefix: number, after: Revision): Promise<void> {
    const under = prefixes[prefix] as string;
    const current = await this.#memory.currentRevision(call());
    if (current === after) return;
    let count = 0;
    try {
      const all = await collect(this.#memory, "", after, current - after);
      count = all.filter((change) =>
        (change.kind === "put" ? change.entry.key : change.previous.key).startsWith(under),
      ).length;
    } catch (error) {
      assert.equal((error as { code: string }).code, "compacted");
      count = 1;
    }
    if (count > 0) await this.#same((storage) => collect(storage, under, after, count));
  }

  async #ago(revisions: number): Promise<Revision> {
    const current = await this.#memory.currentRevision(call());
    return Math.max(0, current - revisions) as Revision;
  }

  async #same(ask: (storage: Storage) => Promise<unknown>): Promise<void> {
    assert.deepEqual(await outcome(ask(this.#embedded)), await outcome(ask(this.#memory)));
  }

  async dispose(): Promise<void> {
    await this.#embedded.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function openAt(directory: string, tailChangesMax: number): Promise<EmbeddedStorage> {
  return EmbeddedStorage.open({
    directory,
    clock: systemClock,
    tailChangesMax,
    cacheBytesMax: 900,
    negativeLookups: { missesMin: 2, keysMax: 4 },
  });
}

/** The result, or the error's code and details. */
async function outcome(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    const { code, current, oldest } = error as {
      code?: string;
      current?: Entry;
      oldest?: Revision;
    };
    assert.ok(code !== undefined, String(error));
    return { code, current, oldest };
  }
}
