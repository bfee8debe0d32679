/** A stream of bytes that can be ended from outside while its reader waits for the next chunk. */
export class AbortableBody implements AsyncIterable<Uint8Array> {
  readonly #inner: AsyncIterator<Uint8Array>;
  readonly #onEnd: () => void;
  #failure: { readonly error: unknown } | undefined;
  #rejectPending: ((error: unknown) => void) | undefined;
  #isEnded = false;

  /** `onEnd` is called once, whichever side ended the stream. */
  constructor(inner: AsyncIterable<Uint8Array>, onEnd: () => void) {
    this.#inner = inner[Symbol.asyncIterator]();
    this.#onEnd = onEnd;
  }

  /**
   * Ends the stream with this error: the reader gets it now or with its next read. Later calls
   * change nothing.
   */
  fail(error: unknown): void {
    if (this.#isEnded) return;
    this.#failure = { error };
    this.#rejectPending?.(error);
    this.#end();
    this.#release();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.#end();
        this.#release();
        return { done: true, value: undefined };
      },
    };
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => {
      this.#rejectPending = reject;
      this.#inner.next().then(
        (result) => {
          if (result.done === true) this.#end();
          resolve(result);
        },
        (error) => {
          this.#end();
          reject(error);
        },
      );
    });
  }

  /**
   * Releases the source, also when the reader does not read on. Errors of the source's release are
   * the source's to report, not this reader's.
   */
  #release(): void {
    this.#inner.return?.().catch(() => undefined);
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd();
  }
}
