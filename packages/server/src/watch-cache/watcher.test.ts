import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type StorageKey, toRevision } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock } from "../testing/index.ts";
import { WatchHub } from "./watch-hub.ts";
import { Watcher } from "./watcher.ts";

const { signal } = new AbortController();
const prefix = "/g/r//a/" as StorageKey;

async function watched(write: (put: (name: string) => Promise<void>) => Promise<void>) {
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const hub = new WatchHub({ storage, clock, onError: () => undefined });
  await hub.start();
  const put = async (name: string) => {
    const key = `${prefix}n/${name}` as StorageKey;
    await storage.commit(
      { key, value: Buffer.from(`{"n":"${name}"}`), expected: "absent" },
      { signal },
    );
  };
  await put("before");
  await hub.reach(toRevision(1), signal);
  const left = new AbortController();
  const watcher = new Watcher(
    {
      prefix,
      selection: undefined,
      form: { name: "raw", encode: ({ value }) => Buffer.from(value) },
      initial: undefined,
      afterRevision: toRevision(0),
      bookmark: undefined,
      errorObject: () => Buffer.from("{}"),
      timeoutMs: 3_600_000,
      signal: left.signal,
    },
    { storage, hub, clock },
  );
  let text = "";
  const reading = (async () => {
    for await (const chunk of watcher.stream()) text += Buffer.from(chunk).toString();
  })();
  await write(put);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  left.abort();
  await reading;
  await hub.close();
  return [...text.matchAll(/"n":"(\w+)"/g)].map(([, name]) => name);
}

describe("a watch that goes from history to live events", () => {
  it("misses nothing, at whichever step of the way it happens", async () => {
    for (let steps = 0; steps < 40; steps++) {
      const seen = await watched(async (put) => {
        for (let step = 0; step < steps; step++) await Promise.resolve();
        await put("meanwhile");
      });
      assert.deepEqual(seen, ["before", "meanwhile"], `after ${steps} steps`);
    }
  });
});
