import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Revision, StorageError, type StorageKey, toRevision } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, supervisorFor } from "../testing/index.ts";
import { UnreadBudget } from "./unread-budget.ts";
import { WatchHub } from "./watch-hub.ts";
import { Watcher, type WatchRequest } from "./watcher.ts";

const { signal } = new AbortController();
const prefix = "/g/r//a/" as StorageKey;

/** A hub on a store, and watches on it. */
async function place() {
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const hub = new WatchHub({
    storage,
    clock,
    supervisor: supervisorFor(clock),
    onError: () => undefined,
  });
  await hub.start();
  const put = async (name: string) => {
    const key = `${prefix}n/${name}` as StorageKey;
    const value = Buffer.from(`{"n":"${name}"}`);
    const revision = await storage.commit({ key, value, expected: "absent" }, { signal });
    await hub.waitForRevision(revision, signal);
  };
  const watch = (left: AbortSignal, more: Partial<WatchRequest> = {}) =>
    new Watcher(
      {
        prefix,
        selection: undefined,
        encoding: { name: "raw", encode: ({ value }) => Buffer.from(value) },
        initial: undefined,
        afterRevision: toRevision(0),
        bookmark: undefined,
        errorObject: () => Buffer.from("{}"),
        unread: new UnreadBudget().account("a"),
        timeoutMs: 3_600_000,
        signal: left,
        ...more,
      },
      { storage, hub, clock },
    );
  return { hub, clock, put, watch };
}

/** Lets all pending work without timers run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const nextOf = (watcher: Watcher) => watcher[Symbol.asyncIterator]().next();

const textOf = ({ value }: IteratorResult<Uint8Array>) => Buffer.from(value ?? "").toString();

describe("the reader of a watch", () => {
  it("gets queued events together, and later events at once", async () => {
    const { hub, put, watch } = await place();
    await put("first");
    const watcher = watch(signal);
    assert.match(textOf(await nextOf(watcher)), /"first"/);
    const waiting = nextOf(watcher);
    await put("second");
    assert.match(textOf(await waiting), /"second"/);
    await put("third");
    await put("fourth");
    assert.match(textOf(await nextOf(watcher)), /"third".*\n.*"fourth"/);
    await watcher.cancel();
    await hub.close();
  });

  it("gets the remaining events from the store when the hub drops them while it reads", async () => {
    const { hub, put, watch } = await place();
    const names = Array.from({ length: 10 }, (_, i) => `${i}`.padStart(100 << 10, "x"));
    for (const name of names) await put(name);
    const watcher = watch(signal);
    let text = textOf(await nextOf(watcher));
    assert.ok(!text.includes("x9"), "the first chunk has all of it");
    hub.clearRing();
    while (!text.includes("x9")) {
      const chunk = await nextOf(watcher);
      assert.equal(chunk.done, false, text.slice(-200));
      text += textOf(chunk);
    }
    const numbers = text.split("\n").filter(Boolean);
    assert.deepEqual(
      numbers.map((line) => /x(\d)"/.exec(line)?.[1]),
      ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
    );
    const waiting = nextOf(watcher);
    await put("later");
    assert.match(textOf(await waiting), /"later"/);
    await watcher.cancel();
    await hub.close();
  });

  it("gets no bookmark older than its first revision from a hub that is behind", async () => {
    const { hub, watch, put } = await place();
    await put("first");
    const bookmark = (revision: Revision) => Buffer.from(`{"rv":${revision}}`);
    const ahead = toRevision(7);
    const beginnings = [
      { initial: { revision: ahead, entries: [], continueAfter: undefined, remaining: undefined } },
      { afterRevision: ahead },
    ];
    for (const beginning of beginnings) {
      const watcher = watch(signal, { ...beginning, bookmark });
      const first = nextOf(watcher);
      if ("initial" in beginning) assert.match(textOf(await first), /"BOOKMARK".*"rv":7/);
      const next = "initial" in beginning ? nextOf(watcher) : first;
      await settle();
      watcher.onTick();
      assert.match(textOf(await next), /"BOOKMARK".*"rv":7/);
      await watcher.cancel();
    }
    await hub.close();
  });

  it("gets the end of the watch when it leaves while it waits, and on every read after", async () => {
    const { hub, put, watch } = await place();
    await put("first");
    const watcher = watch(signal);
    await nextOf(watcher);
    const waiting = nextOf(watcher);
    assert.equal((await watcher[Symbol.asyncIterator]().return()).done, true);
    assert.equal((await waiting).done, true);
    await put("later");
    assert.equal((await nextOf(watcher)).done, true);
    await hub.close();
  });

  it("gets the end of the watch at its timeout, after all events before it", async () => {
    const { hub, clock, put, watch } = await place();
    await put("first");
    const watcher = watch(signal);
    await nextOf(watcher);
    const waiting = nextOf(watcher);
    await put("second");
    await waiting;
    await put("third");
    clock.advance(3_600_000);
    assert.match(textOf(await nextOf(watcher)), /"third"/);
    assert.equal((await nextOf(watcher)).done, true);
    await hub.close();
  });

  it("gets an error when history is lost while it waits, and nothing after the error", async () => {
    const { hub, put, watch } = await place();
    await put("first");
    const watcher = watch(signal);
    await nextOf(watcher);
    const waiting = nextOf(watcher);
    watcher.onLost(new StorageError("compacted", "gone", { oldest: toRevision(9) }));
    assert.match(textOf(await waiting), /"type":"ERROR"/);
    assert.equal((await nextOf(watcher)).done, true);
    await hub.close();
  });
});

describe("the audit record of a watch", () => {
  const noted = (watcher: Watcher) => {
    const told: string[] = [];
    watcher.observe({ onBegin: () => told.push("begun"), onEnd: () => told.push("ended") });
    return told;
  };

  it("is absent when no sink reads it", async () => {
    const { hub, watch } = await place();
    const watcher = watch(signal);
    const told = noted(watcher);
    await watcher.cancel();
    assert.deepEqual(told, []);
    await hub.close();
  });

  it("has the beginning and the end once each, for every cause and number of ends", async () => {
    for (const end of ["reader", "client", "server", "history"] as const) {
      const { hub, put, watch } = await place();
      const left = new AbortController();
      await put("first");
      const watcher = watch(left.signal);
      const told = noted(watcher);
      await nextOf(watcher);
      assert.deepEqual(told, ["begun"]);
      const waiting = nextOf(watcher);
      if (end === "reader") await watcher.cancel();
      if (end === "client") left.abort();
      if (end === "server") watcher.end();
      if (end === "history") watcher.onLost(new StorageError("compacted", "gone", {}));
      await waiting;
      watcher.end();
      left.abort();
      await watcher.cancel();
      assert.deepEqual(told, ["begun", "ended"], end);
      await hub.close();
    }
  });
});

async function watched(write: (put: (name: string) => Promise<void>) => Promise<void>) {
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const hub = new WatchHub({
    storage,
    clock,
    supervisor: supervisorFor(clock),
    onError: () => undefined,
  });
  await hub.start();
  const put = async (name: string) => {
    const key = `${prefix}n/${name}` as StorageKey;
    await storage.commit(
      { key, value: Buffer.from(`{"n":"${name}"}`), expected: "absent" },
      { signal },
    );
  };
  await put("before");
  await hub.waitForRevision(toRevision(1), signal);
  const left = new AbortController();
  const watcher = new Watcher(
    {
      prefix,
      selection: undefined,
      encoding: { name: "raw", encode: ({ value }) => Buffer.from(value) },
      initial: undefined,
      afterRevision: toRevision(0),
      bookmark: undefined,
      errorObject: () => Buffer.from("{}"),
      unread: new UnreadBudget().account("a"),
      timeoutMs: 3_600_000,
      signal: left.signal,
    },
    { storage, hub, clock },
  );
  let text = "";
  const reading = (async () => {
    for await (const chunk of watcher) text += Buffer.from(chunk).toString();
  })();
  await write(put);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  left.abort();
  await reading;
  await hub.close();
  return [...text.matchAll(/"n":"(\w+)"/g)].map(([, name]) => name);
}

describe("a watch that goes from history to live events", () => {
  it("misses no event, at whichever step of the transition the event arrives", async () => {
    for (let steps = 0; steps < 40; steps++) {
      const seen = await watched(async (put) => {
        for (let step = 0; step < steps; step++) await Promise.resolve();
        await put("meanwhile");
      });
      assert.deepEqual(seen, ["before", "meanwhile"], `after ${steps} steps`);
    }
  });
});
