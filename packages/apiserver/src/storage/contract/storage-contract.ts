/**
 * The storage contract: the promises of every backend, as tests.
 *
 * A backend's own test file calls `describeStorage` with a function that opens an empty store. The
 * contract is independent of the backend.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { neverAborted } from "@kcp-ts/machinery/base";
import type { StorageErrorCode } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Change, Entry, Storage, Write } from "../storage.ts";

export interface OpenedStorage {
  readonly storage: Storage;
  /** Closes the store and removes its files. */
  dispose(): Promise<void>;
}

export function describeStorage(name: string, open: () => Promise<OpenedStorage>): void {
  const test = (title: string, body: (storage: Storage) => Promise<void>) =>
    void it(title, async () => {
      const opened = await open();
      try {
        await body(opened.storage);
      } finally {
        await opened.dispose();
      }
    });

  describe(`storage contract: ${name}`, () => {
    describeWrites(test);
    describeReads(test);
    describeHistory(test);
    describeWatches(test);
    describeLifecycle(test);
  });
}

type Test = (title: string, body: (storage: Storage) => Promise<void>) => void;

function describeWrites(test: Test): void {
  test("commit returns a revision that grows with every write", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/b", "1", "absent"), call());
    const third = await storage.commit(put("/a", "2", first), call());
    assert.ok(first > 0 && second > first && third > second);
    assert.equal(await storage.currentRevision(call()), third);
  });

  test("commit throws conflict when the key moved on, and writes nothing", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/a", "2", first), call());
    await assert.rejects(storage.commit(put("/a", "3", first), call()), {
      code: "conflict",
      current: second,
    });
    assert.equal(text(await storage.get(key("/a"), call())), "2");
    assert.equal(await storage.currentRevision(call()), second);
  });

  test("commit throws conflict when an absent key is expected and it exists", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    await assert.rejects(storage.commit(put("/a", "2", "absent"), call()), {
      code: "conflict",
      current: first,
    });
  });

  test("commit throws conflict without a current revision when an existing key is expected and it is gone", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    await storage.commit(remove("/a", first), call());
    await assert.rejects(storage.commit(put("/a", "2", first), call()), {
      code: "conflict",
      current: undefined,
    });
    await assert.rejects(storage.commit(remove("/a", first), call()), {
      code: "conflict",
      current: undefined,
    });
  });

  test("deleting a key that is expected to be absent is a conflict and takes no revision", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const write: Write = { key: key("/b"), value: "delete", expected: "absent" };
    await assert.rejects(storage.commit(write, call()), { code: "conflict", current: undefined });
    assert.equal(await storage.currentRevision(call()), first);
  });

  test("a key that is created again has a new creation revision", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    await storage.commit(remove("/a", first), call());
    const again = await storage.commit(put("/a", "2", "absent"), call());
    const entry = await storage.get(key("/a"), call());
    assert.deepEqual([entry?.createdAt, entry?.modifiedAt], [again, again]);
  });

  test("an update keeps the creation revision", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/a", "2", first), call());
    const entry = await storage.get(key("/a"), call());
    assert.deepEqual([entry?.createdAt, entry?.modifiedAt], [first, second]);
  });

  test("of many concurrent writers that expect the same revision exactly one wins", async (storage) => {
    const first = await storage.commit(put("/a", "0", "absent"), call());
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => storage.commit(put("/a", String(i + 1), first), call())),
    );
    const winners = results.filter((result) => result.status === "fulfilled");
    assert.equal(winners.length, 1);
    for (const result of results) {
      if (result.status === "rejected")
        assert.equal((result.reason as { code: StorageErrorCode }).code, "conflict");
    }
    assert.equal((await storage.get(key("/a"), call()))?.modifiedAt, winners[0]?.value);
  });

  test("concurrent writes to different keys all succeed at different revisions", async (storage) => {
    const revisions = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        storage.commit(put(`/many/${i}`, "v", "absent"), call()),
      ),
    );
    assert.equal(new Set(revisions).size, 100);
    assert.equal(await storage.count(key("/many/"), call()), 100);
  });

  test("a value of one MiB comes back byte for byte", async (storage) => {
    const value = new Uint8Array(1 << 20).map((_, i) => (i * 31) & 0xff);
    await storage.commit({ key: key("/big"), value, expected: "absent" }, call());
    const entry = await storage.get(key("/big"), call());
    assert.ok(
      entry !== undefined && Buffer.compare(Buffer.from(entry.value), Buffer.from(value)) === 0,
    );
  });

  test("an empty value is a value", async (storage) => {
    await storage.commit(put("/empty", "", "absent"), call());
    assert.equal(text(await storage.get(key("/empty"), call())), "");
  });
}

function describeReads(test: Test): void {
  test("get of a missing key is undefined", async (storage) => {
    assert.equal(await storage.get(key("/nothing"), call()), undefined);
  });

  test("what peek has at hand is what get returns, after every kind of write and after close", async (storage) => {
    const check = async () => {
      const peeked = storage.peek?.(key("/a"));
      if (peeked !== undefined) assert.deepEqual(peeked, await storage.get(key("/a"), call()));
    };
    const first = await storage.commit(put("/a", "1", "absent"), call());
    await check();
    const second = await storage.commit(put("/a", "2", first), call());
    await check();
    await storage.commit(remove("/a", second), call());
    assert.equal(storage.peek?.(key("/a")), undefined);
    await storage.commit(put("/a", "3", "absent"), call());
    await check();
    await storage.close();
    assert.equal(storage.peek?.(key("/a")), undefined);
  });

  test("a read sees every write that was acknowledged before it", async (storage) => {
    let revision: Revision | "absent" = "absent";
    for (let i = 0; i < 50; i++) {
      revision = await storage.commit(put("/a", String(i), revision), call());
      assert.equal(text(await storage.get(key("/a"), call())), String(i));
    }
  });

  test("list returns the keys under the prefix and no others, in bytewise order", async (storage) => {
    for (const k of ["/p/b", "/p/a", "/p/a-b/x", "/p/a/x", "/p0", "/o/z", "/p/B", "/p/~"]) {
      await storage.commit(put(k, k, "absent"), call());
    }
    const page = await storage.list(key("/p/"), { ...call(), entriesMax: 100 });
    assert.deepEqual(keys(page.entries), ["/p/B", "/p/a", "/p/a-b/x", "/p/a/x", "/p/b", "/p/~"]);
    assert.equal(page.more, false);
    assert.equal(page.revision, await storage.currentRevision(call()));
  });

  test("list of the empty prefix returns everything", async (storage) => {
    await fill(storage, ["/x/1", "/y/1"]);
    const page = await storage.list(key(""), { ...call(), entriesMax: 10 });
    assert.deepEqual(keys(page.entries), ["/x/1", "/y/1"]);
  });

  test("list of an empty prefix range has no entries and the newest revision", async (storage) => {
    const revision = await storage.commit(put("/x/1", "v", "absent"), call());
    const page = await storage.list(key("/none/"), { ...call(), entriesMax: 10 });
    assert.deepEqual(page, { entries: [], revision, more: false });
  });

  test("paging visits every key once and says when there is more", async (storage) => {
    await fill(storage, numbered("/p/", 25));
    const seen: string[] = [];
    let continueAfter: StorageKey | undefined;
    for (let pages = 1; ; pages++) {
      const page = await storage.list(key("/p/"), { ...call(), entriesMax: 10, continueAfter });
      seen.push(...keys(page.entries));
      if (!page.more) {
        assert.equal(pages, 3);
        break;
      }
      continueAfter = page.entries.at(-1)?.key;
    }
    assert.deepEqual(seen, numbered("/p/", 25));
  });

  test("a page that ends exactly at the last key says there is no more", async (storage) => {
    await fill(storage, numbered("/p/", 10));
    const page = await storage.list(key("/p/"), { ...call(), entriesMax: 10 });
    assert.equal(page.more, false);
  });

  test("paging continues behind a key that was deleted meanwhile", async (storage) => {
    await fill(storage, numbered("/p/", 4));
    const first = await storage.list(key("/p/"), { ...call(), entriesMax: 2 });
    const last = first.entries.at(-1) as Entry;
    await storage.commit(remove(last.key, last.modifiedAt), call());
    const second = await storage.list(key("/p/"), {
      ...call(),
      entriesMax: 2,
      continueAfter: last.key,
    });
    assert.deepEqual(keys(second.entries), numbered("/p/", 4).slice(2));
  });

  test("list by an ending has every key with it once, in order, and pages at one revision", async (storage) => {
    const clusters = numbered("/p/", 9);
    await fill(
      storage,
      clusters.flatMap((each) => [`${each}/one`, `${each}/other`]),
    );
    const seen: string[] = [];
    let continueAfter: StorageKey | undefined;
    let atRevision: Revision | undefined;
    for (let more = true, pages = 0; more; pages++) {
      const options = { ...call(), entriesMax: 2, continueAfter, atRevision, keyEnding: "/one" };
      const page = await storage.list(key("/p/"), options);
      seen.push(...keys(page.entries).filter((each) => each.endsWith("/one")));
      continueAfter = page.entries.at(-1)?.key;
      atRevision ??= page.revision;
      more = page.more;
      const victim = await storage.get(key("/p/0007/one"), call());
      if (victim !== undefined) await storage.commit(remove(victim.key, victim.modifiedAt), call());
      await storage.commit(put(`/p/0008/more-${pages}/one`, "new", "absent"), call());
    }
    assert.deepEqual(
      seen,
      clusters.map((each) => `${each}/one`),
    );
  });

  test("count counts the prefix, and what follows a key", async (storage) => {
    await fill(storage, [...numbered("/p/", 7), "/q/1"]);
    assert.equal(await storage.count(key("/p/"), call()), 7);
    assert.equal(await storage.count(key("/p/"), { ...call(), continueAfter: key("/p/0002") }), 4);
    assert.equal(await storage.count(key("/none/"), call()), 0);
  });
}

function describeHistory(test: Test): void {
  test("get at an old revision returns what was there then", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/a", "2", first), call());
    const third = await storage.commit(remove("/a", second), call());
    const fourth = await storage.commit(put("/a", "3", "absent"), call());
    const at = async (atRevision: Revision) =>
      text(await storage.get(key("/a"), { ...call(), atRevision }));
    assert.deepEqual(
      [await at(first), await at(second), await at(third), await at(fourth)],
      ["1", "2", undefined, "3"],
    );
    const old = await storage.get(key("/a"), { ...call(), atRevision: second });
    assert.deepEqual([old?.createdAt, old?.modifiedAt], [first, second]);
  });

  test("all pages of one listing show the same revision, whatever is written between them", async (storage) => {
    await fill(storage, numbered("/p/", 6));
    const first = await storage.list(key("/p/"), { ...call(), entriesMax: 3 });
    const victim = (await storage.get(key("/p/0004"), call())) as Entry;
    await storage.commit(remove(victim.key, victim.modifiedAt), call());
    await storage.commit(put("/p/0003a", "new", "absent"), call());
    const changed = (await storage.get(key("/p/0005"), call())) as Entry;
    await storage.commit(put("/p/0005", "changed", changed.modifiedAt), call());

    const second = await storage.list(key("/p/"), {
      ...call(),
      entriesMax: 10,
      continueAfter: first.entries.at(-1)?.key,
      atRevision: first.revision,
    });
    assert.deepEqual(keys(second.entries), ["/p/0003", "/p/0004", "/p/0005"]);
    assert.deepEqual(second.entries.map(text), ["/p/0003", "/p/0004", "/p/0005"]);
    assert.equal(second.revision, first.revision);
  });

  test("paging at an old revision says correctly when there is more", async (storage) => {
    await fill(storage, numbered("/p/", 5));
    const revision = await storage.currentRevision(call());
    for (const entry of (await storage.list(key("/p/"), { ...call(), entriesMax: 10 })).entries) {
      await storage.commit(remove(entry.key, entry.modifiedAt), call());
    }
    await fill(storage, numbered("/p/new-", 5));
    const seen: string[] = [];
    let continueAfter: StorageKey | undefined;
    for (;;) {
      const page = await storage.list(key("/p/"), {
        ...call(),
        entriesMax: 2,
        continueAfter,
        atRevision: revision,
      });
      seen.push(...keys(page.entries));
      if (!page.more) break;
      continueAfter = page.entries.at(-1)?.key;
    }
    assert.deepEqual(seen, numbered("/p/", 5));
    assert.equal(await storage.count(key("/p/"), { ...call(), atRevision: revision }), 5);
  });

  test("reads at a revision that has not happened throw future", async (storage) => {
    const revision = await storage.commit(put("/a", "1", "absent"), call());
    const atRevision = (revision + 1000) as Revision;
    await assert.rejects(storage.get(key("/a"), { ...call(), atRevision }), { code: "future" });
    await assert.rejects(storage.list(key("/"), { ...call(), atRevision, entriesMax: 1 }), {
      code: "future",
    });
  });

  test("after compaction older reads and watches throw compacted, newer ones work", async (storage) => {
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/a", "2", first), call());
    const third = await storage.commit(put("/b", "1", "absent"), call());
    await storage.compact(second, call());
    await assert.rejects(storage.get(key("/a"), { ...call(), atRevision: first }), {
      code: "compacted",
    });
    await assert.rejects(storage.list(key("/"), { ...call(), atRevision: first, entriesMax: 1 }), {
      code: "compacted",
    });
    await assert.rejects(collect(storage, "/", (first - 1) as Revision, 1), { code: "compacted" });
    assert.equal(text(await storage.get(key("/a"), { ...call(), atRevision: second })), "2");
    assert.deepEqual(revisions(await collect(storage, "/", second, 1)), [third]);
    await storage.compact(first, call());
  });

  test("compaction keeps the newest state", async (storage) => {
    await fill(storage, numbered("/p/", 20));
    await storage.compact(await storage.currentRevision(call()), call());
    assert.equal(await storage.count(key("/p/"), call()), 20);
    assert.equal(text(await storage.get(key("/p/0007"), call())), "/p/0007");
  });
}

function describeWatches(test: Test): void {
  test("a watch yields puts with their previous entry and deletes with the last one", async (storage) => {
    const start = await storage.currentRevision(call());
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/a", "2", first), call());
    const third = await storage.commit(remove("/a", second), call());
    const changes = await collect(storage, "/", start, 3);
    assert.deepEqual(changes.map(describeChange), [
      `put /a=1 after nothing @${first}`,
      `put /a=2 after 1 @${second}`,
      `delete /a after 2 @${third}`,
    ]);
  });

  test("a watch sees only its prefix", async (storage) => {
    const start = await storage.currentRevision(call());
    await fill(storage, ["/p/1", "/q/1", "/p0/1", "/p/2"]);
    assert.deepEqual((await collect(storage, "/p/", start, 2)).map(changeKey), ["/p/1", "/p/2"]);
  });

  test("a watch goes on live after replaying history", async (storage) => {
    const start = await storage.currentRevision(call());
    await fill(storage, numbered("/p/", 3));
    const collecting = collect(storage, "/p/", start, 6);
    for (const name of ["/p/x", "/p/y", "/p/z"])
      await storage.commit(put(name, name, "absent"), call());
    assert.deepEqual((await collecting).map(changeKey), [
      ...numbered("/p/", 3),
      "/p/x",
      "/p/y",
      "/p/z",
    ]);
  });

  test("a watch from the middle of history yields what follows, without gaps or repeats", async (storage) => {
    await fill(storage, numbered("/p/", 10));
    const page = await storage.list(key("/p/"), { ...call(), entriesMax: 100 });
    const middle = page.entries[4] as Entry;
    assert.deepEqual(
      (await collect(storage, "/p/", middle.modifiedAt, 5)).map(changeKey),
      numbered("/p/", 10).slice(5),
    );
  });

  test("many watches see the same changes in the same order under concurrent writes", async (storage) => {
    const start = await storage.currentRevision(call());
    const watching = Array.from({ length: 5 }, () => collect(storage, "/p/", start, 60));
    await Promise.all(
      numbered("/p/", 60).map((name) => storage.commit(put(name, name, "absent"), call())),
    );
    const seen = await Promise.all(watching);
    for (const changes of seen) {
      const order = revisions(changes);
      assert.deepEqual(
        order,
        [...order].sort((a, b) => a - b),
      );
      assert.deepEqual(changes.map(changeKey), seen[0]?.map(changeKey));
      assert.equal(new Set(order).size, 60);
    }
  });

  test("a watch replays more history than its buffer holds to a reader that keeps up", async (storage) => {
    const start = await storage.currentRevision(call());
    await fill(storage, numbered("/p/", 40));
    const seen: string[] = [];
    const controller = new AbortController();
    const options = { signal: controller.signal, bufferedChangesMax: 3 };
    for await (const change of storage.watch(key("/p/"), start, options)) {
      if (change.kind === "progress") continue;
      if (seen.push(changeKey(change)) === 40) break;
    }
    controller.abort();
    assert.deepEqual(seen, numbered("/p/", 40));
  });

  test("a watch after a revision that has not happened throws future", async (storage) => {
    const revision = await storage.commit(put("/a", "1", "absent"), call());
    await assert.rejects(collect(storage, "/", (revision + 10) as Revision, 1), { code: "future" });
  });

  test("a watch says with a progress mark that it has caught up, also when nothing is under its prefix", async (storage) => {
    const start = await storage.currentRevision(call());
    await fill(storage, numbered("/p/", 3));
    const present = await storage.currentRevision(call());
    const controller = new AbortController();
    for await (const change of storage.watch(key("/none/"), start, {
      signal: controller.signal,
      bufferedChangesMax: 10,
    })) {
      assert.equal(change.kind, "progress");
      assert.ok(change.revision >= present);
      break;
    }
    controller.abort();
  });

  test("a watch ends quietly when its signal aborts", async (storage) => {
    const controller = new AbortController();
    const start = await storage.currentRevision(call());
    const changes = storage.watch(key("/"), start, {
      signal: controller.signal,
      bufferedChangesMax: 10,
    });
    const reading = (async () => {
      let seen = 0;
      for await (const change of changes) if (change.kind !== "progress") seen++;
      return seen;
    })();
    await storage.commit(put("/a", "1", "absent"), call());
    controller.abort();
    assert.ok((await reading) <= 1);
  });

  test("a reader that falls behind by more than its buffer is ended with overrun", async (storage) => {
    const start = await storage.currentRevision(call());
    const iterator = storage
      .watch(key("/p/"), start, { ...call(), bufferedChangesMax: 5 })
      [Symbol.asyncIterator]();
    const first = iterator.next();
    await storage.commit(put("/p/first", "v", "absent"), call());
    await first;
    await fill(storage, numbered("/p/", 50));
    await assert.rejects(
      async () => {
        for (let i = 0; i < 60; i++) {
          const next = await iterator.next();
          assert.ok(next.done !== true, "the watch ended without saying why");
        }
      },
      { code: "overrun" },
    );
  });

  test("a slow reader does not hold up writers or other readers", async (storage) => {
    const start = await storage.currentRevision(call());
    const controller = new AbortController();
    const slow = storage
      .watch(key("/p/"), start, { signal: controller.signal, bufferedChangesMax: 2 })
      [Symbol.asyncIterator]();
    const held = slow.next();
    const fast = collect(storage, "/p/", start, 30);
    await fill(storage, numbered("/p/", 30));
    assert.equal((await fast).length, 30);
    await held;
    controller.abort();
  });
}

function describeLifecycle(test: Test): void {
  test("a healthy store has no fault", async (storage) => {
    await storage.currentRevision(call());
    assert.equal(storage.health(), undefined);
  });

  test("an aborted signal rejects calls and writes nothing", async (storage) => {
    const signal = AbortSignal.abort(new Error("the caller went away"));
    await assert.rejects(storage.get(key("/a"), { signal }), /the caller went away/);
    await assert.rejects(
      storage.commit(put("/a", "1", "absent"), { signal }),
      /the caller went away/,
    );
    assert.equal(await storage.get(key("/a"), call()), undefined);
  });

  test("close ends watches and refuses further calls; closing twice is fine", async (storage) => {
    const start = await storage.currentRevision(call());
    const reading = collect(storage, "/", start, 1);
    const ended = assert.rejects(reading, { code: "closed" });
    await storage.close();
    await ended;
    await assert.rejects(storage.get(key("/a"), call()), { code: "closed" });
    await assert.rejects(storage.commit(put("/a", "1", "absent"), call()), { code: "closed" });
    await storage.close();
  });
}

/** Options of a call without cancellation. */
export function call(): { signal: AbortSignal } {
  return { signal: neverAborted };
}

export function key(name: string): StorageKey {
  return name as StorageKey;
}

export function put(name: string, value: string, expected: Revision | "absent"): Write {
  return { key: key(name), value: new TextEncoder().encode(value), expected };
}

export function remove(name: string, expected: Revision): Write {
  return { key: key(name), value: "delete", expected };
}

export function text(entry: Entry | undefined): string | undefined {
  return entry === undefined ? undefined : new TextDecoder().decode(entry.value);
}

export async function fill(storage: Storage, names: readonly string[]): Promise<void> {
  for (const name of names) await storage.commit(put(name, name, "absent"), call());
}

export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(4, "0")}`);
}

/** The first `count` changes after a revision, without progress marks. */
export async function collect(
  storage: Storage,
  prefix: string,
  afterRevision: Revision,
  count: number,
): Promise<Exclude<Change, { kind: "progress" }>[]> {
  const changes: Exclude<Change, { kind: "progress" }>[] = [];
  const controller = new AbortController();
  const options = { signal: controller.signal, bufferedChangesMax: 1000 };
  for await (const change of storage.watch(key(prefix), afterRevision, options)) {
    if (change.kind === "progress") continue;
    changes.push(change);
    if (changes.length === count) break;
  }
  controller.abort();
  return changes;
}

function keys(entries: readonly Entry[]): string[] {
  return entries.map((entry) => entry.key);
}

function revisions(changes: readonly Change[]): number[] {
  return changes.map((change) => change.revision);
}

function changeKey(change: Exclude<Change, { kind: "progress" }>): string {
  return change.kind === "put" ? change.entry.key : change.previous.key;
}

function describeChange(change: Exclude<Change, { kind: "progress" }>): string {
  const before = text(change.previous) ?? "nothing";
  return change.kind === "put"
    ? `put ${change.entry.key}=${text(change.entry)} after ${before} @${change.revision}`
    : `delete ${change.previous.key} after ${before} @${change.revision}`;
}
