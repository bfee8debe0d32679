/** Collects the bytes of one input, and stops at its bound: bytes beyond it are not read. */
import { JsonSyntaxError } from "../json/index.ts";
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

/**
 * The same as text: each part is decoded when it arrives, so that the bytes are in memory only
 * once. Throws JsonSyntaxError when the text is not UTF-8.
 */
export async function readBoundedText(
  bound: Bound,
  source: AsyncIterable<Uint8Array>,
): Promise<string> {
  const count = new ByteCounter(bound);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const texts: string[] = [];
  try {
    for await (const part of source) {
      count.add(part.length);
      texts.push(decoder.decode(part, { stream: true }));
    }
    texts.push(decoder.decode());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new JsonSyntaxError("invalid UTF-8", { cause: error });
  }
  return texts.join("");
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
