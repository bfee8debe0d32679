/** Every watch of a group sees exactly the events that it would have seen alone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import fc from "fast-check";
import { eventLoopLimits } from "../event-loop/index.ts";
import { type Entry, type Revision, type StorageKey, toRevision } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, supervisorFor } from "../testing/index.ts";
import type { EventEncoding, Selection } from "./hub-event.ts";
import { UnreadBudget } from "./unread-budget.ts";
import { WatchHub } from "./watch-hub.ts";
import { Watcher } from "./watcher.ts";

const { signal } = new AbortController();
const prefix = "/g/r//a/" as StorageKey;

const raw: EventEncoding = { name: "raw", encode: ({ value }) => Buffer.from(value) };
const versions: EventEncoding = {
  name: "versions",
  encode: (_, revision) => Buffer.from(String(revision)),
  first: { name: "versions, first", encode: (_, revision) => Buffer.from(`first ${revision}`) },
};
const both: EventEncoding = { ...raw, name: "both", includesPrevious: true };
const even: Selection = { matches: ({ value }: Entry) => Number(value.toString()) % 2 === 0 };
const every: Selection = { ...even, reportsEveryDeletion: true };

/** The kinds of watches; each is opened by many watches in the group, and by one alone. */
const kinds: readonly {
  readonly encoding: EventEncoding;
  readonly selection: Selection | undefined;
}[] = [
  { encoding: raw, selection: undefined },
  { encoding: versions, selection: undefined },
  { encoding: both, selection: undefined },
  { encoding: raw, selection: even },
  { encoding: versions, selection: every },
];

class Reader {
  readonly kind: number;
  readonly watcher: Watcher;
  text = "";

  constructor(kind: number, hub: WatchHub, storage: MemoryStorage, afterRevision: Revision) {
    this.kind = kind;
    this.watcher = new Watcher(
      {
        prefix,
        initial: undefined,
        afterRevision,
        bookmark: undefined,
        signal,
        ...(kinds[kind] as (typeof kinds)[number]),
        errorObject: () => Buffer.from("{}"),
        unread: new UnreadBudget().account("a"),
        timeoutMs: 3_600_000,
      },
      { storage, hub, clock: new FakeClock() },
    );
  }

  async begin(): Promise<void> {
    for await (const part of this.watcher.initialChunks())
      this.text += Buffer.from(part).toString();
  }

  read(): void {
    for (let part = this.watcher.read(); part !== undefined; part = this.watcher.read()) {
      if (part === "over") return;
      this.text += Buffer.from(part).toString();
    }
  }
}

async function scene() {
  const storage = new MemoryStorage();
  const hubs: WatchHub[] = [];
  const hub = async () => {
    const clock = new FakeClock();
    const opened = new WatchHub({
      storage,
      clock,
      supervisor: supervisorFor(clock),
      onError: (error) => assert.ifError(error),
    });
    await opened.start();
    hubs.push(opened);
    return opened;
  };
  const crowded = await hub();
  const alone: Reader[] = [];
  for (const kind of kinds.keys())
    alone.push(new Reader(kind, await hub(), storage, toRevision(0)));
  for (const reader of alone) await reader.begin();
  let last = toRevision(0);
  let writes = 0;
  const modified = new Map<string, Revision>();
  const write = async (name: string, value: number | undefined) => {
    const expected = modified.get(name) ?? "absent";
    if (expected === "absent" && value === undefined) return;
    const key = `${prefix}n/${name}` as StorageKey;
    const bytes = value === undefined ? ("delete" as const) : Buffer.from(String(value));
    last = await storage.commit({ key, value: bytes, expected }, { signal });
    writes++;
    if (value === undefined) modified.delete(name);
    else modified.set(name, last);
  };
  const close = async () => {
    for (const each of hubs) await each.close();
  };
  const reach = async () => {
    for (const each of hubs) await each.waitForRevision(last, signal);
    return writes;
  };
  return { storage, crowded, alone, write, close, reach };
}

describe("a watch in a watcher group", () => {
  it("delivers the same events as a watch alone, however slowly its client and others read", async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ name: fc.nat(3), value: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.record({ name: fc.nat(3) }) },
      { weight: 2, arbitrary: fc.record({ read: fc.nat(100) }) },
      { weight: 1, arbitrary: fc.constant({ turn: true }) },
    );
    const size = fc.integer({
      min: eventLoopLimits.fanOut.directMax + 1,
      max: eventLoopLimits.fanOut.directMax * 6,
    });
    await fc.assert(
      fc.asyncProperty(size, fc.array(step, { maxLength: 60 }), async (count, steps) => {
        const { storage, crowded, alone, write, close, reach } = await scene();
        const watcherGroup = Array.from(
          { length: count },
          (_, i) => new Reader(i % kinds.length, crowded, storage, toRevision(0)),
        );
        for (const reader of watcherGroup) await reader.begin();
        for (const each of steps) {
          if ("read" in each) watcherGroup[each.read % count]?.read();
          else if ("turn" in each) await new Promise((resolve) => setImmediate(resolve));
          else await write(`o${each.name}`, "value" in each ? each.value : undefined);
        }
        const writes = await reach();
        for (const reader of alone) reader.read();
        // The first kind sees every write, a line each.
        assert.equal(alone[0]?.text.split("\n").length, writes + 1);
        const isDone = () => {
          for (const reader of watcherGroup) reader.read();
          return watcherGroup.every(({ kind, text }) => text === alone[kind]?.text);
        };
        for (let waits = 0; waits < 200 && !isDone(); waits++) await sleep(systemClock, 5);
        for (const { kind, text } of watcherGroup) assert.equal(text, alone[kind]?.text);
        await close();
      }),
      { numRuns: 15 },
    );
  });
});
