/**
 * Scratch memory for bytes between two steps of one synchronous call. All stores share it, because
 * a program may have hundreds of small ones: bytes that are written here are read or copied before
 * the next pack or read.
 *
 * Methods return the Scratch itself: a view for every key and every text would be half a kilobyte
 * of garbage for each object.
 */
export interface Bytes {
  readonly array: Uint8Array;
  readonly start: number;
  readonly end: number;
}

const encoder = new TextEncoder();
const firstNotAscii = 0x80;
/** A UTF-16 unit takes at most three bytes. */
const unitBytesMax = 3;
const lengthMin = 64 << 10;

export class Scratch implements Bytes {
  array: Uint8Array = new Uint8Array(lengthMin);
  readonly start = 0;
  end = 0;

  /** Reserves this number of bytes. An unusually long array is not kept. */
  reserve(length: number): Uint8Array {
    const wanted = Math.max(length, lengthMin);
    if (wanted > this.array.length || this.array.length > lengthMin) {
      if (wanted !== this.array.length) this.array = new Uint8Array(wanted);
    }
    this.end = length;
    return this.array;
  }

  /** Most texts are ASCII, and are encoded in a loop faster than by a call out of JavaScript. */
  write(text: string): this {
    const array = this.reserve(text.length);
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= firstNotAscii) return this.#encode(text);
      array[i] = code;
    }
    return this;
  }

  #encode(text: string): this {
    this.end = encoder.encodeInto(text, this.reserve(text.length * unitBytesMax)).written;
    return this;
  }
}
