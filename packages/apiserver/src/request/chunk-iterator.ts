/** ChunkIterator: reads a body that calls back as an async iterable. */
import type { CallbackBody } from "./api-request.ts";

type Chunk = IteratorResult<Uint8Array, undefined>;

const over: Chunk = { done: true, value: undefined };

/**
 * No generator: `return` ends a `next` that waits for data, which a generator would let wait.
 */
export class ChunkIterator implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #body: CallbackBody;
  /** Undefined before the first chunk, and after the last of the initial chunks. */
  #initial: AsyncIterator<Uint8Array> | undefined;
  #isLive = false;

  constructor(body: CallbackBody) {
    this.#body = body;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Chunk> {
    const body = this.#body;
    if (!this.#isLive) {
      this.#initial ??= body.initialChunks()[Symbol.asyncIterator]();
      const chunk = await this.#initial.next();
      if (chunk.done !== true) return chunk;
      this.#initial = undefined;
      this.#isLive = true;
    }
    for (let taken = body.read(); ; taken = body.read()) {
      if (taken === "over") return over;
      if (taken !== undefined) return { done: false, value: taken };
      await new Promise<void>((resolve) => body.onReadable(resolve));
    }
  }

  async return(): Promise<Chunk> {
    await this.#body.cancel();
    return over;
  }
}
