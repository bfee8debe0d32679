/**
 * Preallocates LevelDB's log with zeros.
 *
 *     | records | zeros | <- end of the file
 *               ^ LevelDB continues here
 *
 * A sync of a file that has grown waits for the journal of the file system, and with it for the
 * writes of all other processes; a sync of overwritten bytes does not: a tenth of the time on a
 * busy disk. LevelDB's reader skips zeros, which it knows from preallocated logs, and so does ours
 * (level-log.ts).
 *
 * Zeros are only ever appended to the file, with no write in flight: everything that LevelDB has
 * written is before them. So correctness does not depend on the estimate of LevelDB's position;
 * where the estimate is wrong, or no zeros can be written, the log grows as usual.
 */
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";

export class WalPreallocator {
  readonly #directory: string;
  #log: { readonly name: string; readonly file: FileHandle } | undefined;
  /** The approximate number of remaining zeros. */
  #left = 0;
  /**
   * The size of the next preallocation: an idle store stays small, a busy one does not preallocate
   * at every batch.
   */
  #step = stepBytesMin;
  #bytesSinceCheck = 0;
  #rotationCheck: Promise<void> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * To be awaited before a write of this size, with no other in flight; undefined when no wait is
   * needed.
   */
  preallocate(bytes: number): Promise<void> | undefined {
    this.#left -= bytes;
    this.#bytesSinceCheck += bytes;
    if (this.#left < 0) return this.#extend(bytes);
    if (this.#bytesSinceCheck > lookEveryBytes) this.#rotationCheck ??= this.#checkRotation();
    return undefined;
  }

  /**
   * After a busy time, when LevelDB has begun a new log: closes the old one, and makes the next
   * preallocation small. With no write in flight.
   */
  async reset(): Promise<void> {
    await ignoreIoErrors(() => this.close());
    this.#left = 0;
    this.#step = stepBytesMin;
  }

  async close(): Promise<void> {
    await this.#rotationCheck;
    await this.#log?.file.close();
    this.#log = undefined;
  }

  async #extend(bytes: number): Promise<void> {
    // Set on success and failure, so that the next attempt is not made with the next write.
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

  /** LevelDB begins a new log every few megabytes, without a notification. */
  async #checkRotation(): Promise<void> {
    this.#bytesSinceCheck = 0;
    await ignoreIoErrors(async () => {
      if ((await this.#newestName()) !== this.#log?.name) this.#left = 0;
    });
    this.#rotationCheck = undefined;
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

/**
 * No space, or a log that is deleted already: then the log grows, and the write itself reports
 * errors of the disk.
 */
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
/** Never written to, so that it takes no memory: all its pages map to the zero page. */
const zeros = Buffer.alloc(stepBytesMax + (1 << 20));
