/**
 * Room for bytes between two steps of one call. All stores share it, because a program may have hundreds of small ones: what is written here
 * is read or copied before anything else is packed or read.
 */
export class Scratch {
  readonly #bytes = new Uint8Array(64 << 10);

  /** What has no room gets an array of its own, which nobody keeps. */
  room(length: number): Uint8Array {
    return length <= this.#bytes.length ? this.#bytes : new Uint8Array(length);
  }
}

const encoder = new TextEncoder();
/** A UTF-16 unit takes at most three bytes. */
const unitBytesMax = 3;

export function encodeInto(text: string, scratch: Scratch): Uint8Array {
  const room = scratch.room(text.length * unitBytesMax);
  return room.subarray(0, encoder.encodeInto(text, room).written);
}
