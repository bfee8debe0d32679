/** Sizes, quotas, history and backups on one real etcd. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type EtcdCluster, etcdMissing, startEtcd } from "@kcp-ts/testkit";
import {
  call,
  collect,
  fill,
  key,
  numbered,
  put,
  remove,
  text,
} from "../contract/storage-contract.ts";
import type { Revision } from "../revision.ts";
import type { Change, Entry } from "../storage.ts";
import { restoreBatchBytesMax, restoreBatchEntriesMax } from "./etcd-snapshot.ts";
import { EtcdStorage, type EtcdStorageOptions } from "./etcd-storage.ts";

const skip = etcdMissing() ?? false;
const stores: EtcdStorage[] = [];
let opened = 0;

async function open(cluster: EtcdCluster, overrides: Partial<EtcdStorageOptions> = {}) {
  const storage = await EtcdStorage.open({
    endpoints: cluster.endpoints,
    clock: systemClock,
    random: systemRandom,
    prefix: `/limits-${opened++}`,
    ...overrides,
  });
  stores.push(storage);
  return storage;
}

/** Deletes like `etcdctl del --prefix`. */
async function empty({ endpoints }: EtcdCluster, prefix: string): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const end = `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`;
  const body = JSON.stringify({ key: base64(prefix), range_end: base64(end) });
  const answer = await fetch(`${endpoints[0]}/v3/kv/deleterange`, { method: "POST", body });
  assert.equal(answer.status, 200, await answer.text());
}

afterEach(async () => {
  for (const storage of stores.splice(0)) await storage.close();
});

describe("etcd storage", { skip }, () => {
  let cluster: EtcdCluster;
  before(async () => {
    cluster = await startEtcd();
  });
  after(() => cluster?.dispose());

  it("accepts a write at the request limit and rejects one byte more with too-large", async () => {
    const storage = await open(cluster, { prefix: "/p", requestBytesMax: 10_000 });
    const value = (length: number) => new Uint8Array(length - "/p/a".length);
    await storage.commit({ key: key("/a"), value: value(10_000), expected: "absent" }, call());
    await assert.rejects(
      storage.commit({ key: key("/b"), value: value(10_001), expected: "absent" }, call()),
      { code: "too-large" },
    );
  });

  it("returns etcd's own rejection of a large write as too-large", async () => {
    const storage = await open(cluster, { requestBytesMax: 64 << 20 });
    for (const bytes of [(1 << 20) + (600 << 10), 8 << 20]) {
      const value = new Uint8Array(bytes);
      await assert.rejects(
        storage.commit({ key: key("/big"), value, expected: "absent" }, call()),
        { code: "too-large", message: /--max-request-bytes/ },
      );
    }
    assert.equal(storage.health(), undefined);
  });

  it("reads a long list in small chunks at one revision, during writes", async () => {
    const storage = await open(cluster, { chunkBytesTarget: 4096 });
    await fill(storage, numbered("/p/", 600));
    const listing = storage.list(key("/p/"), { ...call(), entriesMax: 590 });
    for (const name of ["/p/0001", "/p/0400", "/p/0599"]) {
      const entry = (await storage.get(key(name), call())) as Entry;
      await storage.commit(remove(name, entry.modifiedAt), call());
    }
    const page = await listing;
    assert.deepEqual(
      page.entries.map((entry) => entry.key as string),
      numbered("/p/", 590),
    );
    assert.equal(page.more, true);
    for (const entry of page.entries) assert.ok(entry.modifiedAt <= page.revision);
  });

  it("requests fewer keys when a response would exceed the response limit", async () => {
    const storage = await open(cluster, { responseBytesMax: 100_000 });
    const content = "x".repeat(30_000);
    for (const name of numbered("/p/", 12))
      await storage.commit(put(name, content, "absent"), call());
    const page = await storage.list(key("/p/"), { ...call(), entriesMax: 100 });
    assert.equal(page.entries.length, 12);
  });

  it("reports the oldest revision after a compaction", async () => {
    const storage = await open(cluster);
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/a", "2", first), call());
    await storage.compact(second, call());
    const expected = { code: "compacted", oldest: second };
    await assert.rejects(storage.get(key("/a"), { ...call(), atRevision: first }), expected);
    await assert.rejects(collect(storage, "/", first, 1), expected);
  });

  it("rejects a watch at a compacted revision, whose delete etcd may have dropped", async () => {
    const storage = await open(cluster);
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(remove("/a", first), call());
    await storage.compact(second, call());
    await assert.rejects(collect(storage, "/", first, 1), { code: "compacted", oldest: second });
  });

  it("a watch, a read and a compaction in the future throw future with the newest revision", async () => {
    const storage = await open(cluster);
    const current = await storage.commit(put("/a", "1", "absent"), call());
    const later = (current + 10) as Revision;
    const expected = { code: "future", current };
    await assert.rejects(collect(storage, "/", later, 1), expected);
    await assert.rejects(storage.get(key("/a"), { ...call(), atRevision: later }), expected);
    await assert.rejects(storage.compact(later, call()), expected);
  });

  it("replays history of any length to a reader with a small buffer", async () => {
    const storage = await open(cluster);
    const start = await storage.currentRevision(call());
    await Promise.all(
      numbered("/p/", 3000).map((name) => storage.commit(put(name, "v", "absent"), call())),
    );
    let before = start;
    let seen = 0;
    const options = { ...call(), bufferedChangesMax: 5 };
    for await (const change of storage.watch(key("/p/"), start, options)) {
      if (change.kind === "progress") continue;
      assert.ok(change.revision > before);
      before = change.revision;
      if (++seen % 100 === 0) await sleep(systemClock, 1);
      if (seen === 3000) break;
    }
  });

  it("replays changes that are too large for one response", async () => {
    const storage = await open(cluster);
    const start = await storage.currentRevision(call());
    const content = "x".repeat(700_000);
    for (const name of numbered("/p/", 8))
      await storage.commit(put(name, content, "absent"), call());
    const changes = await collect(storage, "/p/", start, 8);
    assert.deepEqual(
      changes.map((change) => (change.kind === "put" ? text(change.entry)?.length : 0)),
      Array(8).fill(content.length),
    );
  });

  it("sends a watch progress marks when only other prefixes are written", async () => {
    const storage = await open(cluster);
    const others = await open(cluster);
    const start = await storage.currentRevision(call());
    const options = { ...call(), bufferedChangesMax: 100 };
    for (const prefix of ["", "/watched/"]) {
      const watch = storage.watch(key(prefix), start, options)[Symbol.asyncIterator]();
      assert.equal(((await watch.next()).value as Change).kind, "progress");
      const elsewhere = await others.commit(put(`/elsewhere${prefix}`, "1", "absent"), call());
      assert.equal(storage.requestProgress(), true);
      for (;;) {
        const { kind, revision } = (await watch.next()).value as Change;
        assert.equal(kind, "progress");
        if (revision >= elsewhere) break;
      }
      await watch.return?.(undefined);
    }
  });

  it("does not return markers in the history as entries", async () => {
    const storage = await open(cluster);
    const others = await open(cluster);
    const start = await storage.currentRevision(call());
    const watch = storage
      .watch(key(""), start, { ...call(), bufferedChangesMax: 100 })
      [Symbol.asyncIterator]();
    await watch.next();
    await fill(others, ["/a"]);
    storage.requestProgress();
    assert.equal(((await watch.next()).value as Change).kind, "progress");
    assert.equal(await storage.count(key(""), call()), 0);
    for (const prefix of ["", "/"]) {
      const page = await storage.list(key(prefix), { ...call(), entriesMax: 10 });
      assert.deepEqual([page.entries, page.more], [[], false]);
    }
    await fill(storage, ["/b"]);
    const changes = await collect(storage, "", start, 1);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ["put"],
    );
    await watch.return?.(undefined);
  });

  it("restores a snapshot of one revision into an empty store", async () => {
    const source = await open(cluster, { chunkBytesTarget: 2048 });
    await fill(source, numbered("/p/", restoreBatchEntriesMax * 2 + 1));
    const big = "y".repeat(restoreBatchBytesMax);
    await source.commit(put("/q/big", big, "absent"), call());
    const { revision, entries } = await source.openSnapshot(call());
    await source.commit(put("/p/later", "not in the snapshot", "absent"), call());

    const target = await open(cluster);
    const start = await target.currentRevision(call());
    const restored = await target.restore(entries, call());
    assert.equal(restored.entries, restoreBatchEntriesMax * 2 + 2);
    assert.equal(restored.revision - start, 4);

    const expected = await source.list(key(""), {
      ...call(),
      entriesMax: 1000,
      atRevision: revision,
    });
    const actual = await target.list(key(""), { ...call(), entriesMax: 1000 });
    assert.deepEqual(actual.entries.map(keyAndValue), expected.entries.map(keyAndValue));
    const changes = await collect(target, "", start, restored.entries);
    assert.deepEqual(
      changes.map((change) => (change.kind === "put" ? change.entry.key : "")),
      actual.entries.map((entry) => entry.key),
    );
  });

  it("cannot be opened after an interrupted restore, until it is emptied", async () => {
    const prefix = "/half";
    const target = await open(cluster, { prefix });
    const entries = numbered("/p/", restoreBatchEntriesMax * 2 + 1).map((name) => ({
      key: key(name),
      value: new Uint8Array(1),
    }));
    async function* until(count: number) {
      yield* entries.slice(0, count);
      if (count < entries.length) throw new Error("the file ends here");
    }
    for (const count of [restoreBatchEntriesMax + 1, entries.length - 1]) {
      await assert.rejects(target.restore(until(count), call()), /the file ends here/);
      await assert.rejects(open(cluster, { prefix }), {
        code: "corrupt",
        message:
          /a part of a backup under the prefix \/half: a restore was interrupted.*etcdctl del --prefix \/half\/\) and restore again/,
      });
      await empty(cluster, `${prefix}/`);
      await open(cluster, { prefix });
    }
    await target.restore(until(entries.length), call());
    const whole = await open(cluster, { prefix });
    assert.equal(await whole.count(key(""), call()), entries.length);
  });

  it("rejects a restore into a store that is not empty", async () => {
    const storage = await open(cluster);
    await fill(storage, ["/a"]);
    const { entries } = await storage.openSnapshot(call());
    await assert.rejects(storage.restore(entries, call()), { code: "conflict" });
  });

  it("stays within its prefix: keys of a longer prefix with the same beginning are invisible", async () => {
    const storage = await open(cluster, { prefix: "/near" });
    const neighbour = await open(cluster, { prefix: "/nearby" });
    const start = await storage.currentRevision(call());
    await fill(neighbour, ["/a", "/b"]);
    await fill(storage, ["/c"]);
    assert.equal(await storage.count(key(""), call()), 1);
    const page = await storage.list(key(""), { ...call(), entriesMax: 10 });
    assert.deepEqual(
      page.entries.map((entry) => entry.key as string),
      ["/c"],
    );
    const [change] = await collect(storage, "", start, 1);
    assert.ok(change?.kind === "put" && change.entry.key === "/c");
  });
});

describe("etcd storage without space", { skip }, () => {
  it("fails writes with unavailable and the remedy, keeps reading, and reports the fault in health", async () => {
    const cluster = await startEtcd({ args: ["--quota-backend-bytes=4194304"] });
    try {
      // One store detects the fault by its own write alone, the other by its probe alone.
      const storage = await open(cluster, { healthIntervalMs: 3_600_000 });
      const reader = await open(cluster, { healthIntervalMs: 50 });
      await storage.commit(put("/a", "1", "absent"), call());
      const content = "x".repeat(1 << 20);
      await assert.rejects(
        async () => {
          for (let i = 0; i < 20; i++)
            await storage.commit(put(`/${i}`, content, "absent"), call());
        },
        { code: "unavailable", message: /etcdctl alarm disarm/ },
      );
      assert.equal(text(await storage.get(key("/a"), call())), "1");
      assert.match(storage.health()?.message ?? "", /quota.*etcdctl alarm disarm/);
      while (reader.health() === undefined) await sleep(systemClock, 10);
      assert.match(reader.health()?.message ?? "", /NOSPACE.*etcdctl alarm disarm/);
    } finally {
      for (const storage of stores.splice(0)) await storage.close();
      await cluster.dispose();
    }
  });
});

function keyAndValue(entry: Entry): [string, string | undefined] {
  return [entry.key, text(entry)];
}
