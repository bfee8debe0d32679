/**
 * FileWatch: detects files that are replaced while the server runs: certificates, authorities,
 * keys.
 *
 * It polls, because a rename over a file, a mounted volume and a switched symbolic link all look
 * the same to `stat` and each different to notifications. One timer serves all files.
 */
import { readFile, stat } from "node:fs/promises";
import type { Clock, Timer } from "@kcp-ts/machinery/base";

/** How long a change may stay undetected. */
export const pollIntervalMs = 2000;

export interface FileWatchOptions {
  readonly clock: Clock;
  readonly onError: (error: unknown, paths: readonly string[]) => void;
}

interface Watched {
  readonly paths: readonly string[];
  readonly onChange: (contents: readonly string[]) => void | Promise<void>;
  /** The state of the files at the last read, successful or not. */
  seen: string;
}

export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #watched: Watched[] = [];
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: FileWatchOptions) {
    this.#options = options;
  }

  /**
   * Calls back with all contents when one of the files has changed. If the callback throws, the old
   * contents stay in use.
   */
  async watch(
    paths: readonly string[],
    onChange: (contents: readonly string[]) => void | Promise<void>,
  ): Promise<void> {
    this.#watched.push({ paths, onChange, seen: await looks(paths) });
    if (this.#timer === undefined && !this.#isStopped) this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    this.#timer = this.#options.clock.schedule(pollIntervalMs, () => {
      void this.check().finally(() => {
        if (!this.#isStopped) this.#schedule();
      });
    });
  }

  /** Checks the files now; never rejects. */
  async check(): Promise<void> {
    for (const one of this.#watched) {
      const found = await looks(one.paths);
      if (found === one.seen || this.#isStopped) continue;
      one.seen = found;
      try {
        await one.onChange(await Promise.all(one.paths.map((path) => readFile(path, "utf8"))));
      } catch (error) {
        this.#options.onError(error, one.paths);
      }
    }
  }
}

async function looks(paths: readonly string[]): Promise<string> {
  const each = await Promise.all(
    paths.map(async (path) => {
      try {
        const { mtimeMs, size, ino } = await stat(path);
        return `${mtimeMs}/${size}/${ino}`;
      } catch (error) {
        return String((error as NodeJS.ErrnoException).code);
      }
    }),
  );
  return each.join(" ");
}
