/**
 * Bytes of a document that is made of many parts. The parts are copied into chunks, and the chunks
 * are never copied into one: a document of all kinds of a cluster can have tens of megabytes.
 */
const chunkBytes = 256 << 10;

export class Chunks {
  readonly #full: Buffer[] = [];
  #last: Buffer = Buffer.alloc(0);
  #lastLength = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    this.#length += part.length;
    for (let at = 0; at < part.length; ) {
      if (this.#lastLength === this.#last.length) this.#begin(part.length - at);
      const copied = part.subarray(at, at + this.#last.length - this.#lastLength);
      this.#last.set(copied, this.#lastLength);
      this.#lastLength += copied.length;
      at += copied.length;
    }
  }

  text(part: string): void {
    this.add(Buffer.from(part));
  }

  addAll(others: Chunks): void {
    this.#finishLast();
    this.#full.push(...others.finish());
    this.#length += others.length;
  }

  finish(): readonly Buffer[] {
    this.#finishLast();
    return this.#full;
  }

  #begin(bytes: number): void {
    this.#finishLast();
    this.#last = Buffer.allocUnsafeSlow(Math.max(bytes, chunkBytes));
  }

  #finishLast(): void {
    const { length } = this.#last;
    if (this.#lastLength === length) {
      if (length > 0) this.#full.push(this.#last);
    } else if (this.#lastLength > 0) {
      const kept = Buffer.allocUnsafeSlow(this.#lastLength);
      this.#last.copy(kept, 0, 0, this.#lastLength);
      this.#full.push(kept);
    }
    this.#last = Buffer.alloc(0);
    this.#lastLength = 0;
  }
}
