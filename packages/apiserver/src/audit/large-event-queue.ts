/**
 * LargeEventQueue: events with long bodies, which are parsed and encoded again as JSON with yields
 * to the event loop: one after the other, so that all of them together take no more of a turn than
 * one. The queue is limited by the bytes of the bodies.
 */
import { type Resumable, runYielding } from "@kcp-ts/machinery/base";

/** Bodies of one event up to this size are parsed synchronously, in a fraction of a millisecond. */
export const smallBodiesBytesMax = 32 << 10;
/** As much as the buffer of a webhook. */
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

  /** False when the queue is full; the work starts after this call returns. */
  add(bytes: number, work: () => Resumable<void>): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#waiting.push({ bytes, work });
    this.#bytes += bytes;
    this.#running ??= this.#run();
    return true;
  }

  /** Resolves when all events have been written. */
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
