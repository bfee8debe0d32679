/**
 * Goal: preallocated zeros never overwrite LevelDB's records. Method: the directory is copied while
 * the store is open, which is the state after a kill, and the copy is opened.
 */
import assert from "node:assert/strict";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import type { Engine, EngineOperation } from "./engine.ts";
import { LevelDbLocation } from "./level-engine.ts";
import { readLevelLog } from "./level-log.ts";
import { temporaryDirectory } from "./temporary-store.ts";
import { WalPreallocator } from "./wal-preallocator.ts";

/**
 * All files at one moment: LevelDB removes logs in the background, and a copy during that is not a
 * state after a kill.
 */
async function copyOf(directory: string): Promise<string> {
  const names = async () => (await readdir(directory)).sort().join();
  for (;;) {
    const copy = await temporaryDirectory();
    const before = await names();
    try {
      await cp(directory, copy, { recursive: true });
      if ((await names()) === before) return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await rm(copy, { recursive: true });
  }
}

/** Opens the state after a kill at this moment. */
async function afterKill(directory: string, look: (engine: Engine) => Promise<void>) {
  const copy = await copyOf(directory);
  const engine = await new LevelDbLocation(copy).open();
  try {
    await look(engine);
  } finally {
    await engine.close();
    await rm(copy, { recursive: true });
  }
}

async function withStore(body: (engine: Engine, directory: string) => Promise<void>) {
  const directory = await temporaryDirectory();
  const engine = await new LevelDbLocation(directory).open();
  try {
    await body(engine, directory);
  } finally {
    await engine.close();
    await rm(directory, { recursive: true });
  }
}

async function newestLog(directory: string): Promise<Buffer> {
  const logs = (await readdir(directory)).filter((name) => name.endsWith(".log")).sort();
  return readFile(join(directory, logs.at(-1) as string));
}

function endsInZeros(log: Buffer): boolean {
  return log.length > 100 && log.subarray(-100).every((byte) => byte === 0);
}

const put = (key: string, value: Buffer): EngineOperation => ({ type: "put", key, value });

describe("preallocated zeros of the log", () => {
  it("exist after the first write, and the log is read as if they did not", async () => {
    await withStore(async (engine, directory) => {
      await engine.write([put("a", Buffer.from("1"))]);
      const log = await newestLog(directory);
      assert.ok(endsInZeros(log));
      const { records, damagedAt } = readLevelLog(log, "records");
      assert.deepEqual([records.length, damagedAt], [1, undefined]);
      await afterKill(directory, async (left) => {
        assert.equal(String(await left.get("a")), "1");
      });
    });
  });

  it("do not make the log grow with every write", async () => {
    await withStore(async (engine, directory) => {
      await engine.write([put("a", Buffer.alloc(1000, 1))]);
      const { length } = await newestLog(directory);
      for (let i = 0; i < 50; i++) await engine.write([put(`b${i}`, Buffer.alloc(1000, 2))]);
      assert.equal((await newestLog(directory)).length, length);
    });
  });

  it("are appended to the next log, too", async () => {
    await withStore(async (engine, directory) => {
      const first = (await readdir(directory)).filter((name) => name.endsWith(".log"));
      const value = Buffer.alloc(100 << 10, 1);
      const isNext = async () => {
        const logs = (await readdir(directory)).filter((name) => name.endsWith(".log"));
        return !logs.includes(first[0] as string) && endsInZeros(await newestLog(directory));
      };
      let writes = 0;
      while (!(await isNext())) {
        assert.ok(writes < 1000, "a hundred megabytes, and no log but the first has zeros");
        await engine.write([put(`k${writes++}`, value)]);
      }
    });
  });

  it("overwrite nothing, for all sizes and orders of writes", async () => {
    const seed = Date.now() % 100_000;
    const random = new SeededRandom(seed);
    await withStore(async (engine, directory) => {
      const written = new Map<string, Buffer>();
      for (let round = 0; round < 12; round++) {
        const writes: Promise<void>[] = [];
        for (let i = 0; i < 12; i++) {
          // Sometimes more than the reused batch may hold, and more than the remaining zeros.
          const bytes = 1 + Math.floor(random.next() ** 6 * 1_500_000);
          const [name, value] = [`k${round}-${i}`, Buffer.alloc(bytes, 1 + i)];
          written.set(name, value);
          writes.push(engine.write([put(name, value), put("m", Buffer.from(name))]));
        }
        await Promise.all(writes);
        await afterKill(directory, async (left) => {
          for (const [name, value] of written) {
            const found = await left.get(name);
            assert.ok(found !== undefined && value.equals(found), `${name}, seed ${seed}`);
          }
          assert.equal(String(await left.get("m")), [...written.keys()].at(-1), `seed ${seed}`);
        });
      }
    });
  });

  it("are few again after releaseMemory, and the log's content is in a table", async () => {
    await withStore(async (engine, directory) => {
      const value = Buffer.alloc(100 << 10, 1);
      for (let i = 0; i < 20; i++) await engine.write([put(`k${i}`, value)]);
      assert.ok((await newestLog(directory)).length > 20 * value.length);
      const during = engine.flush();
      const beside = engine.write([put("beside", Buffer.from("2"))]);
      await Promise.all([during, beside, engine.flush()]);
      await engine.write([put("after", Buffer.from("3"))]);
      const files = await readdir(directory);
      assert.ok(files.some((name) => name.endsWith(".ldb")));
      assert.ok((await newestLog(directory)).length < 200 << 10);
      await afterKill(directory, async (left) => {
        for (let i = 0; i < 20; i++) assert.ok((await left.get(`k${i}`))?.equals(value), `k${i}`);
        assert.equal(String(await left.get("beside")), "2");
        assert.equal(String(await left.get("after")), "3");
      });
    });
  });

  it("stay unchanged when few bytes were written since", async () => {
    await withStore(async (engine, directory) => {
      await engine.write([put("a", Buffer.from("1"))]);
      const before = (await readdir(directory)).sort();
      await engine.flush();
      assert.deepEqual((await readdir(directory)).sort(), before);
    });
  });

  it("are optional where there is no log to append to", async () => {
    const directory = await temporaryDirectory();
    await rm(directory, { recursive: true });
    const ahead = new WalPreallocator(directory);
    for (let i = 0; i < 10; i++) await ahead.preallocate(100_000);
    await ahead.close();
  });
});
