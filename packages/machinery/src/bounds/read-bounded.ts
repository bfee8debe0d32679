/** Collects the bytes of one input, and stops at its bound: bytes beyond it are not read. */
import { type Bound, BoundExceededError } from "./bound.ts";

/** Counts the bytes that arrived. Throws BoundExceededError at the first byte over the bound. */
export class ByteCounter {
  readonly #bound: Bound;
  #bytes = 0;

  constructor(bound: Bound) {
    this.#bound = bound;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#bound.bytesMax)
      throw new BoundExceededError(this.#bound, "bytes", this.#bound.bytesMax);
  }
}

/** Leaving the iteration cancels the source, so that the sender is disconnected. */
export async function readBounded(
  bound: Bound,
  source: AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  const count = new ByteCounter(bound);
  const parts: Uint8Array[] = [];
  for await (const part of source) {
    count.add(part.length);
    parts.push(part);
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : joined(parts, count.bytes);
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
