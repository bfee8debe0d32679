/**
 * The bounded queue between a watch and its reader.
 *
 * Live changes that exceed the limit end the watch with `overrun`. History does not count against
 * the reader: its producer waits with `drained` instead.
 */
import { StorageError } from "../errors.ts";
import type { Change, WatchOptions } from "../storage.ts";

export class ChangeBuffer {
  readonly #options: WatchOptions;
  readonly #name: string;
  #pending: Change[] = [];
  #head = 0;
  #end: { readonly error: unknown } | undefined;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;

  constructor(name: string, options: WatchOptions) {
    this.#name = name;
    this.#options = options;
  }

  get #length(): number {
    return this.#pending.length - this.#head;
  }

  /** Adds a change of the past, at any length of the queue. */
  pushHistory(change: Change): void {
    if (this.#end !== undefined) return;
    this.#pending.push(change);
    this.#wakeReader?.();
  }

  /** Adds a live change; throws `overrun` when the reader is too far behind. */
  pushLive(change: Change): void {
    const { bufferedChangesMax } = this.#options;
    if (this.#length >= bufferedChangesMax) {
      throw new StorageError(
        "overrun",
        `watch of ${this.#name} is over ${bufferedChangesMax} changes behind, list again`,
      );
    }
    this.pushHistory(change);
  }

  /** Consecutive progress marks are merged into one at the end of the queue. */
  pushProgress(change: Change & { kind: "progress" }): void {
    if (this.#length > 0 && this.#pending.at(-1)?.kind === "progress") this.#pending.pop();
    this.pushHistory(change);
  }

  /** Resolves when the reader's lag is below its limit, or the reader is gone. */
  async drained(): Promise<void> {
    while (this.#end === undefined && this.#length >= this.#options.bufferedChangesMax) {
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
    }
  }

  /** The reader gets the queued changes, then `error`. */
  endAfterPending(error: unknown): void {
    this.#end ??= { error };
    this.#wakeReader?.();
    this.#wakeWriter?.();
  }

  /** The reader gets `error` next. */
  endNow(error: unknown): void {
    this.#end ??= { error };
    this.#pending = [];
    this.#head = 0;
    this.#wakeReader?.();
    this.#wakeWriter?.();
  }

  async *read(): AsyncGenerator<Change> {
    const { signal } = this.#options;
    const onAbort = () => this.#wakeReader?.();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      while (!signal.aborted) {
        const change = this.#shift();
        if (change !== undefined) {
          yield change;
          continue;
        }
        if (this.#end !== undefined) throw this.#end.error;
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
        this.#wakeReader = undefined;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #shift(): Change | undefined {
    const change = this.#pending[this.#head];
    if (change === undefined) return undefined;
    this.#head++;
    if (this.#head > 1024 || this.#head === this.#pending.length) {
      this.#pending = this.#pending.slice(this.#head);
      this.#head = 0;
    }
    if (this.#length < this.#options.bufferedChangesMax) this.#wakeWriter?.();
    return change;
  }
}
