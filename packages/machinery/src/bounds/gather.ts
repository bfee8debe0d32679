/** Gathers the bytes of one input, and stops at its bound: what is beyond it is not read. */
import { type Bound, BoundExceededError } from "./bound.ts";

/** Counts what has come. Throws BoundExceededError at the first byte too many. */
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

/** Leaving the iteration ends the source, so that a sender who goes on is cut off. */
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
