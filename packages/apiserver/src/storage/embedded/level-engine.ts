/** The engine on LevelDB, through classic-level. */
import { chmod, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel, type Iterator, type Snapshot } from "classic-level";
import { isStorageError, StorageError } from "../errors.ts";
import { corruptError } from "./corrupt-error.ts";
import type {
  Engine,
  EngineCursor,
  EngineLocation,
  EngineOperation,
  EngineRange,
  EngineSnapshot,
} from "./engine.ts";
import { sliceBytes } from "./engine.ts";
import { checkLevelFiles } from "./level-files.ts";
import { WalPreallocator } from "./wal-preallocator.ts";

/**
 * classic-level, with access to its internals for batches of already encoded operations.
 *
 * `batch([…])` copies every operation and resolves its encodings, which takes three times as long;
 * `_batch` reads every member of every operation by name, which takes nearly twice as long as a
 * chained batch. The native memory of chained batches waits for the garbage collector, which does
 * not know its size: so one chained batch serves all writes, cleared after each, and large writes
 * do not use it.
 */
class Database extends ClassicLevel<string, Buffer> {
  declare _batch: (operations: readonly EngineOperation[], options: WriteOptions) => Promise<void>;
  declare _chainedBatch: () => NativeBatch;
  #reused: NativeBatch | undefined;

  async writeEncoded(operations: readonly EngineOperation[], bytes: number): Promise<void> {
    if (bytes > reusedBatchBytesMax) return this._batch(operations, durable);
    this.#reused ??= this._chainedBatch();
    const batch = this.#reused;
    try {
      for (const operation of operations) {
        if (operation.type === "put") batch._put(operation.key, operation.value);
        else batch._del(operation.key);
      }
      await batch._write(durable);
    } finally {
      batch._clear();
    }
  }
}

interface NativeBatch {
  _put(key: string, value: Buffer): void;
  _del(key: string): void;
  _write(options: WriteOptions): Promise<void>;
  _clear(): void;
}

interface WriteOptions {
  readonly sync: boolean;
}

const durable: WriteOptions = { sync: true };

export class LevelDbLocation implements EngineLocation {
  readonly name: string;

  constructor(directory: string) {
    this.name = directory;
  }

  async open(): Promise<Engine> {
    try {
      // Before the constructor, which begins to open by itself.
      await checkLevelFiles(this.name);
      await restrictPermissions(this.name);
      const database = new Database(this.name, {
        keyEncoding: "utf8",
        valueEncoding: "buffer",
        writeBufferSize,
        cacheSize,
        maxFileSize,
      });
      await database.open();
      return new LevelDbEngine(database, new WalPreallocator(this.name));
    } catch (error) {
      throw openError(this.name, error);
    }
  }

  /** Opening replays the log into a table: it needs about the space of the log, and a reserve. */
  async probe(): Promise<void> {
    const path = join(this.name, "space.probe");
    let bytes = 1 << 20;
    for (const name of await readdir(this.name)) {
      if (name.endsWith(".log")) bytes += (await stat(join(this.name, name))).size;
    }
    const file = await open(path, "w");
    try {
      const block = Buffer.alloc(1 << 20);
      for (let left = bytes; left > 0; left -= block.length) {
        await file.writeFile(left < block.length ? block.subarray(0, left) : block);
      }
      await file.sync();
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
  }
}

/**
 * Restricts the stored files to their owner, whatever the parent directory allows: LevelDB's files
 * are world-readable.
 */
async function restrictPermissions(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (((await stat(directory)).mode & 0o077) !== 0) await chmod(directory, 0o700);
}

class LevelDbEngine implements Engine {
  readonly #database: Database;
  readonly #walPreallocator: WalPreallocator;
  /**
   * Settled when the last write, or the switch to a new log, is; failures are reported to their own
   * caller.
   */
  #last: Promise<void> = Promise.resolve();
  #unflushedBytes = 0;
  #flushing: Promise<void> | undefined;

  constructor(database: Database, ahead: WalPreallocator) {
    this.#database = database;
    this.#walPreallocator = ahead;
  }

  getSync(key: string): Buffer | undefined {
    return this.#database.getSync(key);
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.#database.get(key);
  }

  getMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    return this.#database.getMany([...keys]);
  }

  scan(range: EngineRange): EngineCursor {
    return new LevelDbCursor(this.#database, range, undefined);
  }

  snapshot(): EngineSnapshot {
    return new LevelDbSnapshot(this.#database);
  }

  /** Serializes writes: none while another is in flight, or while zeros are appended to the log. */
  write(operations: readonly EngineOperation[]): Promise<void> {
    const written = this.#last.then(() => this.#write(operations));
    this.#last = written.catch(() => undefined);
    return written;
  }

  async #write(operations: readonly EngineOperation[]): Promise<void> {
    if (this.#database.status !== "open") throw new Error(`the store is ${this.#database.status}`);
    const bytes = bytesOfOperations(operations);
    const extended = this.#walPreallocator.preallocate(bytes);
    if (extended !== undefined) await extended;
    this.#unflushedBytes += bytes;
    await this.#database.writeEncoded(operations, bytes);
  }

  flush(): Promise<void> {
    const isDue = this.#unflushedBytes >= flushBytesMin && this.#database.status === "open";
    if (!isDue) return Promise.resolve();
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /**
   * LevelDB flushes before it compacts any range: this range is after all keys, so that nothing
   * else is compacted.
   */
  async #flush(): Promise<void> {
    const bytes = this.#unflushedBytes;
    this.#unflushedBytes = 0;
    try {
      await this.#database.compactRange(behindKeys, behindKeys);
    } catch (error) {
      this.#unflushedBytes += bytes;
      throw error;
    }
    const begun = this.#last.then(() => this.#walPreallocator.reset());
    this.#last = begun.catch(() => undefined);
    await begun;
  }

  async close(): Promise<void> {
    // A failure is reported to the caller of the flush.
    await this.#flushing?.catch(() => undefined);
    await this.#last;
    await this.#database.close();
    await this.#walPreallocator.close();
  }
}

class LevelDbSnapshot implements EngineSnapshot {
  readonly #database: Database;
  readonly #snapshot: Snapshot;

  constructor(database: Database) {
    this.#database = database;
    this.#snapshot = database.snapshot();
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.#database.get(key, { snapshot: this.#snapshot });
  }

  getMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    return this.#database.getMany([...keys], { snapshot: this.#snapshot });
  }

  scan(range: EngineRange): EngineCursor {
    return new LevelDbCursor(this.#database, range, this.#snapshot);
  }

  close(): Promise<void> {
    return this.#snapshot.close();
  }
}

/**
 * An iterator reserves memory for as many pairs as were requested at once, and a copy of the last
 * ones, until its wrapper is garbage-collected: under a load of lists that was hundreds of
 * megabytes. So the first request is for few pairs, and later ones for more; and an iterator with
 * much memory reads an empty range before it is closed, which releases the memory.
 */
class LevelDbCursor implements EngineCursor {
  readonly #iterator: Iterator<Database, string, Buffer>;
  readonly #end: string;
  #pairsAtOnce = firstPairs;
  #heldBytes = 0;

  constructor(database: Database, range: EngineRange, snapshot: Snapshot | undefined) {
    this.#end = range.reverse === true ? range.from : range.to;
    this.#iterator = database.iterator<string, Buffer>({
      gte: range.from,
      lt: range.to,
      reverse: range.reverse ?? false,
      values: range.keysOnly !== true,
      highWaterMarkBytes: sliceBytes,
      ...(snapshot === undefined ? {} : { snapshot }),
    });
  }

  async next(pairsMax: number): Promise<readonly (readonly [string, Buffer])[]> {
    const pairs = await this.#iterator.nextv(Math.min(pairsMax, this.#pairsAtOnce));
    this.#pairsAtOnce *= 4;
    // At its end the iterator is not read any more, and keeps its memory.
    if (pairs.length > 0) this.#heldBytes = bytesOf(pairs);
    return pairs;
  }

  async close(): Promise<void> {
    try {
      if (this.#heldBytes > heldBytesMax) {
        this.#iterator.seek(this.#end);
        await this.#iterator.nextv(1);
      }
    } finally {
      await this.#iterator.close();
    }
  }
}

function bytesOf(pairs: readonly (readonly [string, Buffer | undefined])[]): number {
  let bytes = 0;
  for (const [key, value] of pairs) bytes += key.length + (value?.length ?? 0);
  return bytes;
}

/**
 * The reason why a directory cannot be opened, with the next step to take. Errors of other causes
 * are returned unchanged.
 */
export function openError(directory: string, error: unknown): unknown {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (isStorageError(error) || !(cause instanceof Error)) return error;
  const { code } = cause as NodeJS.ErrnoException;
  const reason = cause.message;
  if (typeof code !== "string") return error;
  if (code === "LEVEL_LOCKED") {
    return new StorageError(
      "unavailable",
      `the data directory ${directory} is in use by another process: stop it, or use another directory`,
      { cause },
    );
  }
  if (code === "LEVEL_CORRUPTION") return corruptError(directory, reason, cause);
  return new StorageError("unavailable", `cannot open the data directory ${directory}: ${reason}`, {
    cause,
  });
}

function bytesOfOperations(operations: readonly EngineOperation[]): number {
  let bytes = 0;
  for (const operation of operations) {
    bytes += operation.key.length;
    if (operation.type === "del") continue;
    if (operation.value.length === 0) throw new Error(`${operation.key} has an empty value`);
    bytes += operation.value.length;
  }
  return bytes;
}

/** Fewer bytes are not worth a file of their own. */
const flushBytesMin = 512 << 10;
const behindKeys = "~";
/** The memory limit of the reused batch. */
const reusedBatchBytesMax = 1 << 20;
/**
 * At most twice this size of LevelDB's log is replayed when the store is opened after a crash; and
 * memory of this size is used, in small blocks.
 */
const writeBufferSize = 4 << 20;
/**
 * The cache of blocks. Entries in use have a cache of their own, and the files are memory-mapped.
 */
const cacheSize = 1 << 20;
const maxFileSize = 4 << 20;
const firstPairs = 8;
/** The memory that a closed cursor may keep until it is garbage-collected. */
const heldBytesMax = 16 << 10;
