/**
 * What has come of a body. Large parts are kept as they came; small ones are copied together: kept as it came, each would hold an object
 * and the whole of the bytes that it arrived with, for as little as one byte.
 */

/** Smaller parts are copied. */
export const copiedPartBytesMax = 4 << 10;
/** They are copied into memory of this size at most. */
const tailBytesMax = 64 << 10;
const tailBytesMin = 512;

export class BodyParts {
  #whole: Uint8Array[] = [];
  #tail: Buffer | undefined;
  #tailUsed = 0;

  /** Most bodies are one part, which is also the last: it is kept as it came. */
  push(part: Uint8Array, isLast: boolean): void {
    if (part.length === 0) return;
    if (part.length >= copiedPartBytesMax || (isLast && this.count === 0)) {
      this.#closeTail();
      this.#whole.push(part);
      return;
    }
    const tail = this.#tailFor(part.length);
    tail.set(part, this.#tailUsed);
    this.#tailUsed += part.length;
  }

  /** Everything, in one piece; nothing is left. */
  take(): Uint8Array {
    this.#closeTail();
    const parts = this.#whole;
    this.#whole = [];
    return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
  }

  clear(): void {
    this.#whole = [];
    this.#tail = undefined;
    this.#tailUsed = 0;
  }

  /** Pieces of memory that are held. */
  get count(): number {
    return this.#whole.length + (this.#tail === undefined ? 0 : 1);
  }

  #tailFor(bytes: number): Buffer {
    const tail = this.#tail;
    const wanted = this.#tailUsed + bytes;
    if (tail !== undefined && wanted <= tail.length) return tail;
    if (tail !== undefined && wanted > tailBytesMax) this.#closeTail();
    const used = this.#tailUsed;
    const size = used === 0 ? Math.max(tailBytesMin, bytes) : Math.min(wanted * 2, tailBytesMax);
    const larger = Buffer.allocUnsafeSlow(Math.max(size, used + bytes));
    if (used > 0) larger.set((this.#tail as Buffer).subarray(0, used));
    this.#tail = larger;
    return larger;
  }

  #closeTail(): void {
    if (this.#tail === undefined) return;
    this.#whole.push(this.#tail.subarray(0, this.#tailUsed));
    this.#tail = undefined;
    this.#tailUsed = 0;
  }
}
