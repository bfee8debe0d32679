import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type Change, type Revision, revisionZero, type StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { CheckedStorage } from "./checked-storage.ts";
import { encodeObject } from "./encode.ts";

const prefix = "/g/r/i/" as StorageKey;
const keyOf = (name: string) => `${prefix}tenant/ns/${name}` as StorageKey;
const { signal } = new AbortController();
const broken = Buffer.from("{");

describe("a checked store", () => {
  let inner: MemoryStorage;
  let storage: CheckedStorage;
  let damaged: string[];
  beforeEach(() => {
    inner = new MemoryStorage();
    damaged = [];
    storage = new CheckedStorage(inner, ({ key }) => void damaged.push(key));
  });
  afterEach(() => storage.close());

  const whole = (name: string) => encodeObject({ kind: "K", apiVersion: "v1", metadata: { name } });
  const put = (name: string, value: Uint8Array, expected: Revision | "absent" = "absent") =>
    storage.commit({ key: keyOf(name), value, expected }, { signal });

  it("lists intact values, page by page, over any number of damaged ones", async () => {
    for (const name of ["a", "b", "c", "d", "e"])
      await put(name, name === "a" || name === "d" ? whole(name) : broken);
    for (const entriesMax of [1, 2, 3, 10]) {
      const found: StorageKey[] = [];
      let continueAfter: StorageKey | undefined;
      for (let pages = 0; pages < 10; pages++) {
        const page = await storage.list(prefix, { signal, entriesMax, continueAfter });
        found.push(...page.entries.map(({ key }) => key));
        continueAfter = page.entries.at(-1)?.key;
        if (!page.more) break;
      }
      assert.deepEqual(found, [keyOf("a"), keyOf("d")], `pages of ${entriesMax}`);
    }
    assert.deepEqual([...new Set(damaged)], [keyOf("b"), keyOf("c"), keyOf("e")]);
  });

  it("lists damaged values on request", async () => {
    await put("a", broken);
    const { entries } = await storage.list(prefix, { signal, entriesMax: 5, includeCorrupt: true });
    assert.equal(entries.length, 1);
  });

  it("reports a damaged value in the feed as an absent one", async () => {
    const first = await put("a", whole("a"));
    const second = await put("a", broken, first);
    const third = await put("a", whole("a"), second);
    const fourth = await put("a", broken, third);
    await storage.commit({ key: keyOf("a"), value: "delete", expected: fourth }, { signal });
    const told: string[] = [];
    const stop = new AbortController();
    const options = { signal: stop.signal, bufferedChangesMax: 10 };
    for await (const change of storage.watch(prefix, revisionZero, options)) {
      told.push(describeChange(change));
      if (change.revision > fourth) stop.abort();
    }
    assert.deepEqual(told, ["added", "deleted", "added", "deleted", "progress"]);
  });
});

function describeChange(change: Change): string {
  if (change.kind === "progress") return "progress";
  if (change.kind === "delete") return "deleted";
  return change.previous === undefined ? "added" : "modified";
}
