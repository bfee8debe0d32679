/**
 * Events with long bodies, which are read and written as JSON again in pieces while others are served: one after the other, so that all of them
 * together take no more of a turn than one. Those that wait are bounded by the bytes of their bodies.
 */
import { type Resumable, runYielding } from "@kcp-ts/machinery/base";

/** Bodies of one event up to here are read at once: what takes part of a millisecond. */
export const smallBodiesBytesMax = 32 << 10;
/** As much as waits for a webhook. */
export const largeBodiesBytesMax = 64 << 20;

interface Waiting {
  readonly bytes: number;
  readonly work: () => Resumable<void>;
}

export class LargeEventQueue {
  readonly #bytesMax: number;
  readonly #onError: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #running: Promise<void> | undefined;

  constructor(bytesMax: number, onError: (error: unknown) => void) {
    this.#bytesMax = bytesMax;
    this.#onError = onError;
  }

  /** False when there is no room; it has not begun when this returns. */
  add(bytes: number, work: () => Resumable<void>): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#waiting.push({ bytes, work });
    this.#bytes += bytes;
    this.#running ??= this.#run();
    return true;
  }

  /** When all have been written. */
  async done(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await runYielding(next.work());
      } catch (error) {
        this.#onError(error);
      }
      this.#bytes -= next.bytes;
    }
    this.#running = undefined;
  }
}
