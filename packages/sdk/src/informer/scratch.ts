/**
 * Room for bytes between two steps of one call. All stores share it, because a program may have hundreds of small ones: what is written here
 * is read or copied before anything else is packed or read.
 *
 * It is its own answer: a view for every key and every text would be half a kilobyte of garbage for each object.
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

  /** Room for so many bytes. An array that was longer than most is not kept. */
  room(length: number): Uint8Array {
    const wanted = Math.max(length, lengthMin);
    if (wanted > this.array.length || this.array.length > lengthMin) {
      if (wanted !== this.array.length) this.array = new Uint8Array(wanted);
    }
    this.end = length;
    return this.array;
  }

  /** Most texts are ASCII, and done before a call out of JavaScript would have begun. */
  write(text: string): this {
    const array = this.room(text.length);
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= firstNotAscii) return this.#encode(text);
      array[i] = code;
    }
    return this;
  }

  #encode(text: string): this {
    this.end = encoder.encodeInto(text, this.room(text.length * unitBytesMax)).written;
    return this;
  }
}
