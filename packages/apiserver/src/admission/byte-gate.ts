/** Limits the bytes of concurrent tasks. A task beyond the limit runs alone. */
export class ByteGate {
  readonly #bytesMax: number;
  readonly #waiting: (() => void)[] = [];
  #held = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Tasks that wait begin in the order of their calls. */
  async run<Result>(bytes: number, task: () => Promise<Result>): Promise<Result> {
    while (this.#held > 0 && this.#held + bytes > this.#bytesMax)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#held += bytes;
    try {
      return await task();
    } finally {
      this.#held -= bytes;
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }
}
