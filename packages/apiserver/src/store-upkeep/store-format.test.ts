/** Goal: a program reads what it can read, and refuses the rest before it writes anything. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { isStorageError } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { ensureStoreFormat, type StoreFormat, storeFormatKey } from "./store-format.ts";

const signal = new AbortController().signal;
const clock = systemClock;
/** Three successive releases: the second prepares what the third writes. */
const first: StoreFormat = { format: 1, readableBy: 1 };
const second: StoreFormat = { format: 2, readableBy: 1 };
const third: StoreFormat = { format: 2, readableBy: 2 };
const fourth: StoreFormat = { format: 3, readableBy: 2 };

async function recorded(storage: MemoryStorage): Promise<Readonly<Record<string, string>>> {
  const entry = await storage.get(storeFormatKey, { signal });
  assert.ok(entry !== undefined);
  return decodeObject(entry)["data"] as Record<string, string>;
}

describe("the format of a store", () => {
  it("is recorded by the first program, and not touched by the same one", async () => {
    const storage = new MemoryStorage();
    await ensureStoreFormat(storage, { clock });
    const revision = await storage.currentRevision({ signal });
    await ensureStoreFormat(storage, { clock });
    assert.equal(await storage.currentRevision({ signal }), revision);
    const { format, readableBy } = await recorded(storage);
    assert.deepEqual([format, readableBy], ["1", "1"]);
  });

  it("is raised by an upgrade, after which the release before still starts and leaves it", async () => {
    const storage = new MemoryStorage();
    for (const program of [first, second, first, second])
      await ensureStoreFormat(storage, { clock, program });
    assert.equal((await recorded(storage))["format"], "2");
  });

  it("is refused by a program that cannot read it, with what to start instead", async () => {
    const storage = new MemoryStorage();
    await ensureStoreFormat(storage, { clock, program: fourth });
    const revision = await storage.currentRevision({ signal });
    await assert.rejects(ensureStoreFormat(storage, { clock, program: first }), (error) => {
      assert.ok(isStorageError(error, "unavailable"));
      assert.match(
        error.message,
        /has format 3.*needs .* format 2.*reads up to format 1: start kcp/,
      );
      return true;
    });
    assert.equal(await storage.currentRevision({ signal }), revision, "nothing was written");
    await ensureStoreFormat(storage, { clock, program: third });
  });

  it("is recorded once by servers that start together", async () => {
    const storage = new MemoryStorage();
    await Promise.all([1, 2, 3].map(() => ensureStoreFormat(storage, { clock })));
    assert.equal(await storage.currentRevision({ signal }), 1);
  });

  it("is refused when the record is damaged", async () => {
    const storage = new MemoryStorage();
    await ensureStoreFormat(storage, { clock, program: { format: Number.NaN, readableBy: 1 } });
    await assert.rejects(ensureStoreFormat(storage, { clock }), /does not say the format/);
  });
});
