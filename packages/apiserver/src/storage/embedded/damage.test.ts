/**
 * Damaged files are detected before LevelDB opens them; a torn tail is not damage. The images are
 * copies of an open store's directory: the state after a crash.
 */
import assert from "node:assert/strict";
import { cp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { call, collect, fill, key, numbered, put, text } from "../contract/storage-contract.ts";
import { isStorageError } from "../errors.ts";
import { revisionZero } from "../revision.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { metaKey } from "./layout.ts";
import { LevelDbLocation } from "./level-engine.ts";
import { openTemporary, type TemporaryStore, temporaryDirectory } from "./temporary-store.ts";

const tableEntries = 300;
const logEntries = 200;
const names = numbered("/p/", tableEntries + logEntries);

describe("the embedded store with damaged files", () => {
  let original: TemporaryStore;
  let image: string;
  let copies = 0;

  /** Some entries in a table file, some in the log. */
  before(async () => {
    original = await openTemporary();
    await fill(original.storage, names.slice(0, tableEntries));
    await original.storage.close();
    const storage = await EmbeddedStorage.open({
      directory: original.directory,
      clock: systemClock,
    });
    await fill(storage, names.slice(tableEntries));
    image = await temporaryDirectory();
    await cp(original.directory, join(image, "original"), { recursive: true });
    await storage.close();
  });

  after(async () => {
    await original.dispose();
    await rm(image, { recursive: true, force: true });
  });

  const damagedCopy = async (damage: (directory: string) => Promise<void>): Promise<string> => {
    const directory = join(image, `copy-${copies++}`);
    await cp(join(image, "original"), directory, { recursive: true });
    await damage(directory);
    return directory;
  };

  const refuses = async (
    file: RegExp,
    damage: (directory: string) => Promise<void>,
  ): Promise<void> => {
    const directory = await damagedCopy(damage);
    const filesBefore = await readdir(directory);
    await assert.rejects(open(directory), (error) => {
      assert.ok(isStorageError(error, "corrupt"), String(error));
      assert.match(error.message, new RegExp(directory));
      assert.match(error.message, file);
      assert.match(error.message, /kcp restore/);
      return true;
    });
    assert.deepEqual(await readdir(directory), filesBefore, "the files are left as they are");
  };

  it("opens an undamaged copy", async () => {
    const storage = await open(await damagedCopy(async () => undefined));
    assert.equal(await storage.count(key("/p/"), call()), names.length);
    await storage.close();
  });

  it("rejects a log with flipped bytes in the middle, at any offset", async () => {
    const bytes = await logBytes(join(image, "original"));
    for (let at = 0; at < bytes * 0.9; at += Math.floor(bytes / 40)) {
      await refuses(/\.log .*wrong checksum/, async (directory) =>
        flip(await fileIn(directory, ".log"), at),
      );
    }
  });

  const opensTorn = async (tear: (log: string) => Promise<void>, cut: number): Promise<void> => {
    const directory = await damagedCopy(async (copy) => tear(await fileIn(copy, ".log")));
    const storage = await open(directory);
    const revision = await storage.currentRevision(call());
    assert.ok(revision >= tableEntries && revision < names.length);
    if (cut <= 50) assert.equal(revision, names.length - 1);
    const page = await storage.list(key("/p/"), { ...call(), entriesMax: 1000 });
    assert.deepEqual(page.entries.map(text), names.slice(0, revision));
    assert.equal((await collect(storage, "", revisionZero, revision)).length, revision);
    await storage.commit(put("/next", "v", "absent"), call());
    await storage.close();
  };

  const tearings = {
    "the file ends there": (log: string, at: number) => truncate(log, at),
    "zeros are there": async (log: string, at: number) =>
      writeFile(log, (await readFile(log)).fill(0, at)),
  };
  for (const [how, tear] of Object.entries(tearings))
    it(`opens after a torn tail of any length, with everything before it: ${how}`, async () => {
      const bytes = await logBytes(join(image, "original"));
      for (const cut of [1, 2, 7, 50, 100, 1000, bytes - 1, bytes])
        await opensTorn((log) => tear(log, bytes - cut), cut);
    });

  it("opens when zeros follow the log, as after a power cut", async () => {
    const directory = await damagedCopy(async (copy) => {
      const log = await fileIn(copy, ".log");
      await writeFile(log, Buffer.concat([await readFile(log), Buffer.alloc(100_000)]));
    });
    const storage = await open(directory);
    assert.equal(await storage.currentRevision(call()), names.length);
    await storage.close();
  });

  it("rejects a table file that is missing, truncated or overwritten at its end", async () => {
    await refuses(/\.ldb is missing/, async (directory) => rm(await fileIn(directory, ".ldb")));
    await refuses(/\.ldb .*bytes instead of/, async (directory) => {
      const table = await fileIn(directory, ".ldb");
      await truncate(table, (await readFile(table)).length - 1);
    });
    await refuses(/\.ldb .*footer/, async (directory) => {
      const table = await fileIn(directory, ".ldb");
      await flip(table, (await readFile(table)).length - 1);
    });
  });

  it("rejects a directory without CURRENT instead of starting empty", async () => {
    await refuses(/CURRENT is missing/, (directory) => rm(join(directory, "CURRENT")));
  });

  it("rejects a CURRENT that names no file, and a manifest with flipped bytes", async () => {
    await refuses(/CURRENT/, (directory) => writeFile(join(directory, "CURRENT"), "MANIFEST-9\n"));
    await refuses(/MANIFEST-\d+ .*wrong checksum/, async (directory) =>
      flip(await fileIn(directory, "MANIFEST-"), 10),
    );
  });

  it("rejects a directory whose log is missing", async () => {
    await refuses(/\.log is missing/, async (directory) => {
      const log = await fileIn(directory, ".log");
      await rename(log, `${log}.away`);
    });
  });

  it("never returns wrong bytes from a table with flipped bytes", async () => {
    const table = await fileIn(join(image, "original"), ".ldb");
    const bytes = (await readFile(table)).length;
    let refused = 0;
    for (let at = 100; at < bytes * 0.7; at += Math.floor(bytes / 60)) {
      const directory = await damagedCopy(async (copy) => flip(await fileIn(copy, ".ldb"), at));
      refused += await readRightOrNothing(directory);
    }
    assert.ok(refused > 10, `only ${refused} reads noticed the damage`);
  });

  it("rejects a history with a missing batch, and counters that contradict it", async () => {
    await withEngine(await damagedCopy(async () => undefined), async (home, where) => {
      const engine = await home.open();
      const cursor = engine.scan({ from: "h", to: "i", keysOnly: true });
      const keys: string[] = [];
      for (let pairs = await cursor.next(1000); pairs.length > 0; pairs = await cursor.next(1000))
        keys.push(...pairs.map(([name]) => name));
      await cursor.close();
      await engine.write([{ type: "del", key: keys[250] as string }]);
      await engine.close();
      await assert.rejects(open(where), { code: "corrupt", message: /history .* is missing/ });
    });
    await withEngine(await damagedCopy(async () => undefined), async (home, where) => {
      const engine = await home.open();
      const last = (await engine.get(metaKey)) as Buffer;
      await engine.write([{ type: "put", key: metaKey, value: Buffer.from([2, ...last]) }]);
      await engine.close();
      await assert.rejects(open(where), { code: "unavailable", message: /has format 2/ });
    });
    await withEngine(await damagedCopy(async () => undefined), async (home, where) => {
      const engine = await home.open();
      await engine.write([{ type: "del", key: metaKey }]);
      await engine.close();
      await assert.rejects(open(where), { code: "corrupt", message: /no counters/ });
    });
  });
});

/** Returns 1 when a read detected the damage; every returned entry must be right. */
async function readRightOrNothing(directory: string): Promise<number> {
  let storage: EmbeddedStorage;
  try {
    storage = await open(directory);
  } catch (error) {
    assert.ok(isStorageError(error, "corrupt"), String(error));
    return 1;
  }
  let noticed = 0;
  for (const name of names) {
    try {
      const entry = await storage.get(key(name), call());
      if (entry !== undefined) assert.equal(text(entry), name);
    } catch (error) {
      assert.ok(isStorageError(error, "corrupt"), String(error));
      noticed = 1;
    }
  }
  try {
    const page = await storage.list(key("/p/"), { ...call(), entriesMax: 1000 });
    for (const entry of page.entries) assert.equal(text(entry), entry.key);
  } catch (error) {
    assert.ok(isStorageError(error, "corrupt"), String(error));
    noticed = 1;
  }
  await storage.close();
  return noticed;
}

function open(directory: string): Promise<EmbeddedStorage> {
  return EmbeddedStorage.open({ directory, clock: systemClock });
}

async function withEngine(
  directory: string,
  body: (home: LevelDbLocation, where: string) => Promise<void>,
): Promise<void> {
  await body(new LevelDbLocation(directory), directory);
}

/** The end of the log's records: zeros follow. */
async function logBytes(directory: string): Promise<number> {
  const log = await readFile(await fileIn(directory, ".log"));
  return log.findLastIndex((byte) => byte !== 0) + 1;
}

async function fileIn(directory: string, part: string): Promise<string> {
  const name = (await readdir(directory)).find((candidate) => candidate.includes(part));
  assert.ok(name !== undefined, `no ${part} in ${directory}`);
  return join(directory, name);
}

async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] = (bytes[at] as number) ^ 0xff;
  await writeFile(path, bytes);
}
