import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { eventLoopLimits } from "../../event-loop/index.ts";
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
import { batchWritesEager, batchWritesMax, batchWritesWithoutDelay } from "./commit-queue.ts";
import type { EmbeddedStorage, EmbeddedStorageOptions } from "./embedded-storage.ts";
import { FaultyEngineLocation } from "./faulty-engine-location.ts";
import { openTemporary, temporaryDirectory } from "./temporary-store.ts";

describe("group commit", () => {
  it("writes many concurrent commits in few batches", async () => {
    await withHome({}, async (storage, home) => {
      const before = home.batches;
      await Promise.all(
        numbered("/p/", 1000).map((name) => storage.commit(put(name, "v", "absent"), call())),
      );
      const most = Math.ceil(1000 / batchWritesMax) + 1;
      assert.ok(home.batches - before <= most, `${home.batches - before} batches`);
    });
  });

  it("begins a large batch before the turn ends, and never beside a batch in flight", async () => {
    await withHome({}, async (storage, home) => {
      const before = home.batches;
      const gate = new Gate();
      home.beforeWrite = () => gate.wait();
      const write = (name: string) => storage.commit(put(name, "v", "absent"), call());
      const names = numbered("/p/", 2 * batchWritesEager + 1);
      const few = names.slice(0, batchWritesEager - 1).map(write);
      assert.equal(home.batches - before, 0);
      const more = names.slice(batchWritesEager - 1).map(write);
      assert.equal(home.batches - before, 1);
      await gate.reached;
      await nextTurn();
      assert.equal(home.batches - before, 1);
      gate.open();
      const revisions = await Promise.all([...few, ...more]);
      assert.deepEqual(
        revisions,
        [...revisions].sort((a, b) => a - b),
      );
      assert.equal(home.batches - before, 2);
    });
  });

  it("begins the next batch before it acknowledges the last one", async () => {
    await withHome({}, async (storage, home) => {
      const before = home.batches;
      const gate = new Gate();
      home.beforeWrite = () => gate.wait();
      const write = (name: string) => storage.commit(put(name, "v", "absent"), call());
      const first = write("/first");
      await gate.reached;
      const waiting = numbered("/p/", batchWritesWithoutDelay).map(write);
      gate.open();
      await first;
      assert.equal(home.batches - before, 2);
      await Promise.all(waiting);
    });
  });

  it("writes a single commit to an idle store in a batch of its own", async () => {
    await withHome({}, async (storage, home) => {
      const before = home.batches;
      await fill(storage, numbered("/p/", 5));
      assert.equal(home.batches - before, 5);
    });
  });

  it("evaluates the writes of one group against each other", async () => {
    await withHome({}, async (storage, home) => {
      const first = await storage.commit(put("/a", "1", "absent"), call());
      const before = home.batches;
      const results = await Promise.allSettled([
        storage.commit(put("/a", "2", first), call()),
        storage.commit(put("/a", "3", (first + 1) as Revision), call()),
        storage.commit(remove("/a", (first + 2) as Revision), call()),
        storage.commit(put("/a", "4", "absent"), call()),
        storage.commit(put("/a", "5", first), call()),
      ]);
      assert.deepEqual(
        results.map((result) => (result.status === "fulfilled" ? result.value : "refused")),
        [first + 1, first + 2, first + 3, first + 4, "refused"],
      );
      assert.equal(home.batches - before, 1);
      assert.equal(text(await storage.get(key("/a"), call())), "4");
    });
  });

  it("rejects a conflict without waiting for the disk", async () => {
    await withHome({}, async (storage, home) => {
      await storage.commit(put("/a", "1", "absent"), call());
      const before = home.batches;
      await assert.rejects(storage.commit(put("/a", "2", "absent"), call()), { code: "conflict" });
      assert.equal(home.batches, before);
    });
  });

  it("rejects a conflict with a write of the same batch when that write is durable, and not before", async () => {
    await withHome({}, async (storage, home) => {
      const gate = new Gate();
      home.afterWrite = () => gate.wait();
      const first = storage.commit(put("/a", "1", "absent"), call());
      let answer = "none";
      const second = storage
        .commit(put("/a", "2", "absent"), call())
        .catch(({ code }: { code: string }) => {
          answer = code;
        });
      await gate.reached;
      await nextTurn();
      assert.equal(await storage.get(key("/a"), call()), undefined);
      assert.equal(answer, "none", "it tells of a write that nobody can see");
      gate.open();
      await second;
      assert.equal(answer, "conflict");
      assert.equal(text(await storage.get(key("/a"), call())), "1");
      await first;
    });
  });

  it("reports no conflict with a write that failed", async () => {
    await withHome({}, async (storage, home) => {
      home.failNextWrite = true;
      const answers = await Promise.allSettled([
        storage.commit(put("/a", "1", "absent"), call()),
        storage.commit(put("/a", "2", "absent"), call()),
      ]);
      const codes = answers.map((one) => (one.status === "rejected" ? one.reason.code : "done"));
      assert.deepEqual(codes, ["unavailable", "unavailable"]);
    });
  });

  it("hides a batch that is on disk but not acknowledged", async () => {
    await withHome({}, async (storage, home) => {
      await fill(storage, ["/p/a", "/p/b", "/p/c"]);
      const at = await storage.currentRevision(call());
      const gate = new Gate();
      home.afterWrite = () => gate.wait();
      const b = (await storage.get(key("/p/b"), call()))?.modifiedAt as Revision;
      const c = (await storage.get(key("/p/c"), call()))?.modifiedAt as Revision;
      const writing = Promise.all([
        storage.commit(put("/p/bb", "new", "absent"), call()),
        storage.commit(put("/p/b", "changed", b), call()),
        storage.commit(remove("/p/c", c), call()),
      ]);
      await gate.reached;
      for (const atRevision of [undefined, at]) {
        const page = await storage.list(key("/p/"), { ...call(), entriesMax: 10, atRevision });
        assert.deepEqual(page.entries.map(text), ["/p/a", "/p/b", "/p/c"]);
        assert.equal(page.revision, at);
        assert.equal(await storage.count(key("/p/"), { ...call(), atRevision }), 3);
        const options = { ...call(), atRevision };
        assert.equal(await storage.get(key("/p/bb"), options), undefined);
        assert.equal(text(await storage.get(key("/p/b"), options)), "/p/b");
        assert.equal(text(await storage.get(key("/p/c"), options)), "/p/c");
      }
      assert.equal(await storage.currentRevision(call()), at);
      gate.open();
      await writing;
      assert.equal(text(await storage.get(key("/p/b"), call())), "changed");
      assert.equal(await storage.get(key("/p/c"), call()), undefined);
      assert.equal((await collect(storage, "/p/", at, 3)).length, 3);
    });
  });

  it("drops a queued write whose signal aborts", async () => {
    await withHome({}, async (storage, home) => {
      const gate = new Gate();
      home.beforeWrite = () => gate.wait();
      const first = storage.commit(put("/a", "1", "absent"), call());
      await gate.reached;
      const controller = new AbortController();
      const second = storage.commit(put("/b", "1", "absent"), controller);
      const third = storage.commit(put("/c", "1", "absent"), call());
      const refused = assert.rejects(second, /changed its mind/);
      controller.abort(new Error("changed its mind"));
      gate.open();
      await refused;
      assert.equal((await third) - (await first), 1);
      assert.equal(await storage.get(key("/b"), call()), undefined);
    });
  });
});

describe("limits of the embedded store", () => {
  it("queue queuedWritesMax writes and reject one more", async () => {
    await withHome({ queuedWritesMax: 3 }, async (storage, home) => {
      const gate = new Gate();
      home.beforeWrite = () => gate.wait();
      const first = storage.commit(put("/0", "v", "absent"), call());
      await gate.reached;
      const waiting = ["/1", "/2", "/3"].map((k) => storage.commit(put(k, "v", "absent"), call()));
      await assert.rejects(storage.commit(put("/4", "v", "absent"), call()), {
        code: "unavailable",
      });
      gate.open();
      await Promise.all([first, ...waiting]);
      assert.equal(await storage.count(key("/"), call()), 4);
    });
  });

  it("queue queuedBytesMax bytes and reject one more", async () => {
    await withHome({ queuedBytesMax: 20 }, async (storage, home) => {
      const gate = new Gate();
      home.beforeWrite = () => gate.wait();
      const first = storage.commit(put("/0", "v", "absent"), call());
      await gate.reached;
      const waiting = [
        storage.commit(put("/1", "12345678", "absent"), call()),
        storage.commit(put("/2", "12345678", "absent"), call()),
      ];
      await assert.rejects(storage.commit(put("/", "", "absent"), call()), { code: "unavailable" });
      gate.open();
      await Promise.all([first, ...waiting]);
    });
  });

  it("accept a value of valueBytesMax and reject a larger one", async () => {
    await withHome({ valueBytesMax: 100 }, async (storage) => {
      await storage.commit(put("/a", "x".repeat(100), "absent"), call());
      await assert.rejects(storage.commit(put("/b", "x".repeat(101), "absent"), call()), {
        code: "too-large",
      });
    });
  });

  it("accept a key of 4096 bytes and reject a longer one", async () => {
    await withHome({}, async (storage) => {
      await storage.commit(put(`/${"k".repeat(4095)}`, "v", "absent"), call());
      await assert.rejects(storage.commit(put(`/${"k".repeat(4096)}`, "v", "absent"), call()), {
        code: "too-large",
      });
    });
  });

  it("acknowledge a limited number of writes in one turn of the event loop, in their order", async () => {
    await withHome({}, async (storage, home) => {
      const gate = new Gate();
      home.beforeWrite = () => gate.wait();
      const first = storage.commit(put("/first", "v", "absent"), call());
      await gate.reached;
      const told: number[] = [];
      const turns: number[] = [];
      let turn = 0;
      const count = eventLoopLimits.acknowledgedPerTurnMax + 1;
      const writes = numbered("/p/", count).map((name, i) =>
        storage.commit(put(name, "v", "absent"), call()).then(() => {
          told.push(i);
          turns.push(turn);
        }),
      );
      let isDone = false;
      const all = Promise.all(writes).then(() => {
        isDone = true;
      });
      gate.open();
      await first;
      while (!isDone) {
        await nextTurn();
        turn++;
      }
      await all;
      assert.deepEqual(told, [...told.keys()]);
      assert.equal(
        turns.filter((each) => each === turns[0]).length,
        eventLoopLimits.acknowledgedPerTurnMax,
      );
    });
  });

  it("split the queue into batches of at most batchWritesMax writes", async () => {
    await withHome({}, async (storage, home) => {
      const commit = (count: number, prefix: string) =>
        Promise.all(
          numbered(prefix, count).map((name) => storage.commit(put(name, "v", "absent"), call())),
        );
      const batchesFor = async (count: number, prefix: string) => {
        const gate = new Gate();
        home.beforeWrite = () => gate.wait();
        const first = commit(1, `${prefix}first`);
        await gate.reached;
        const start = home.batches;
        const waiting = commit(count, prefix);
        gate.open();
        await Promise.all([first, waiting]);
        return home.batches - start;
      };
      assert.equal(await batchesFor(batchWritesMax, "/at/"), 1);
      assert.equal(await batchesFor(batchWritesMax + 1, "/over/"), 2);
    });
  });
});

/** Blocks callers, and notifies the test when one waits. */
class Gate {
  open: () => void = () => undefined;
  reached: Promise<void>;
  #opened: Promise<void>;
  #reach: () => void = () => undefined;

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.open = resolve;
    });
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  wait(): Promise<void> {
    this.#reach();
    return this.#opened;
  }
}

async function withHome(
  options: Partial<EmbeddedStorageOptions>,
  body: (storage: EmbeddedStorage, home: FaultyEngineLocation) => Promise<void>,
): Promise<void> {
  const directory = await temporaryDirectory();
  const engineLocation = new FaultyEngineLocation(directory);
  const { storage, dispose } = await openTemporary({ ...options, directory, engineLocation });
  try {
    await body(storage, engineLocation);
    assert.deepEqual(engineLocation.violations, []);
  } finally {
    await dispose();
  }
}
