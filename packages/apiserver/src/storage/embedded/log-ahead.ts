/**
 * Writes zeros where LevelDB's log is going to be written.
 *
 *     | records | zeros | <- end of the file
 *               ^ LevelDB goes on here
 *
 * A sync of a file that has grown waits for the journal of the file system, and with it for what everybody else has written; a sync of bytes that were replaced
 * does not: a tenth of the time on a busy disk. LevelDB's reader skips zeros, which it knows from logs that were made like this, and so does ours (level-log.ts).
 *
 * Zeros are only ever put behind the end of the file, with no write under way: whatever LevelDB has written is before it. So nothing depends on knowing how far
 * it has come; where the guess is wrong, or no zeros can be written, the log grows as it would have.
 */
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";

export class WalPreallocator {
  readonly #directory: string;
  #log: { readonly name: string; readonly file: FileHandle } | undefined;
  /** Zeros that are left, more or less. */
  #left = 0;
  /** How many are written next: a store that is hardly written to stays small, one that is does not stop at every batch. */
  #step = stepBytesMin;
  #unseen = 0;
  #look: Promise<void> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** To be awaited before a write of so many bytes, with no other under way; undefined when there is nothing to wait for. */
  prepare(bytes: number): Promise<void> | undefined {
    this.#left -= bytes;
    this.#unseen += bytes;
    if (this.#left < 0) return this.#extend(bytes);
    if (this.#unseen > lookEveryBytes) this.#look ??= this.#lookForNew();
    return undefined;
  }

  /** After a busy time, when LevelDB has begun a new log: the old one is let go of, and the next zeros are few. With no write under way. */
  async beginAnew(): Promise<void> {
    await ignoreIoErrors(() => this.close());
    this.#left = 0;
    this.#step = stepBytesMin;
  }

  async close(): Promise<void> {
    await this.#look;
    await this.#log?.file.close();
    this.#log = undefined;
  }

  async #extend(bytes: number): Promise<void> {
    // Whether this succeeds or not: the next try is not made with the next write.
    this.#left = this.#step;
    await ignoreIoErrors(async () => {
      const name = await this.#newestName();
      if (name === undefined) return;
      const file = await this.#opened(name);
      const { size } = await file.stat();
      await file.write(zeros, 0, Math.min(this.#step + bytes, zeros.length), size);
      this.#step = Math.min(this.#step * 2, stepBytesMax);
    });
  }

  /** LevelDB begins a new log every few megabytes, and tells nobody. */
  async #lookForNew(): Promise<void> {
    this.#unseen = 0;
    await ignoreIoErrors(async () => {
      if ((await this.#newestName()) !== this.#log?.name) this.#left = 0;
    });
    this.#look = undefined;
  }

  async #newestName(): Promise<string | undefined> {
    const logs = (await readdir(this.#directory)).filter((name) => logFile.test(name));
    return logs.sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10))[0];
  }

  async #opened(name: string): Promise<FileHandle> {
    if (this.#log?.name === name) return this.#log.file;
    const file = await open(join(this.#directory, name), "r+");
    await this.#log?.file.close();
    this.#log = { name, file };
    return file;
  }
}

/** No room, or a log that is gone already: then the log grows, and what is wrong with the disk is told by the write itself. */
async function ignoreIoErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

const logFile = /^\d+\.log$/;
const stepBytesMin = 64 << 10;
const stepBytesMax = 4 << 20;
const lookEveryBytes = 128 << 10;
/** Never written to, so that it takes no memory: its pages are all the one that is zero. */
const zeros = Buffer.alloc(stepBytesMax + (1 << 20));
