/**
 * The body of a response that comes in on a Node stream, HTTP/1.1 or HTTP/2.
 *
 * Node's own async iterator costs several times what the read itself does, so this one is made of two listeners. A body that was cut off
 * is an error, never a short body.
 */
import { Buffer } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import { type ResponseBody, TransportError } from "../client/index.ts";

export interface ByteStream {
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

export interface StreamBodyOptions {
  readonly stream: ByteStream;
  /** Whether an `end` means that all of the body came. */
  readonly isComplete: () => boolean;
  /** Gives up on the rest of the body. */
  readonly cancel: () => void;
  /** Why the stream broke; the signal's reason if it was aborted. Asked only when it is needed: making an error is dear. */
  readonly failure: (cause: unknown) => unknown;
  /** Of a body that is read whole. */
  readonly textBytesMax?: number;
}

/** Beyond this the stream is paused, and the server's window fills up instead of our memory. */
export const bodyBufferedBytesMax = 1 << 20;

/**
 * A body that is read whole ends here: nobody sends that much for good, packed it may be a thousandth on the wire, and V8 has no longer strings
 * than twice this.
 */
export const bodyTextBytesMax = 256 << 20;

export class StreamBody implements ResponseBody, AsyncIterator<Uint8Array> {
  readonly #options: StreamBodyOptions;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #bufferedBytesMax = bodyBufferedBytesMax;
  #isPaused = false;
  #outcome: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;
  #isText = false;
  #textBytesMax = bodyTextBytesMax;
  #takenBytes = 0;
  /** From the second chunk on: most bodies have one. */
  #text: GrowingText | undefined;

  /** Reads from the start, up to the limit: a body that is there when it is asked for costs no further turn of the event loop. */
  constructor(options: StreamBodyOptions) {
    this.#options = options;
    const { stream, isComplete } = options;
    stream.on("data", (chunk) => this.#take(chunk));
    stream.on("end", () => (isComplete() ? this.#finish({}) : this.closed()));
  }

  /** Called by the owner of the stream when it fails or is closed. Behind a complete body this means nothing. */
  closed(cause?: unknown): void {
    if (this.#outcome === undefined) this.#finish({ error: this.#options.failure(cause) });
  }

  /** Chunks become text as they come: the buffers of a long body are gone before it is whole. */
  text(bytesMax?: number): Promise<string> {
    const { textBytesMax = bodyTextBytesMax } = this.#options;
    this.#textBytesMax = Math.min(bytesMax ?? textBytesMax, textBytesMax);
    this.#bufferedBytesMax = Number.POSITIVE_INFINITY;
    this.#isText = true;
    if (this.#takenBytes > this.#textBytesMax) this.#refuse();
    this.#resume();
    return new Promise((resolve, reject) => {
      const settle = () => {
        if (this.#outcome === undefined) return;
        if ("error" in this.#outcome) reject(this.#outcome.error);
        else resolve(this.#text?.end() ?? decode(this.#chunks));
      };
      this.#wake = settle;
      settle();
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#bufferedBytes -= chunk.length;
        if (this.#bufferedBytes < bodyBufferedBytesMax / 2) this.#resume();
        return { done: false, value: chunk };
      }
      if (this.#outcome !== undefined) {
        if ("error" in this.#outcome) throw this.#outcome.error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#chunks = [];
    if (this.#outcome === undefined) {
      this.#finish({});
      this.#options.cancel();
    }
    return { done: true, value: undefined };
  }

  #take(chunk: Uint8Array): void {
    if (this.#outcome !== undefined) return;
    this.#takenBytes += chunk.length;
    if (this.#isText && this.#takenBytes > this.#textBytesMax) {
      this.#refuse();
      return;
    }
    if (this.#isText && this.#chunks.length > 0) {
      this.#text ??= new GrowingText(this.#chunks);
      this.#text.add(chunk);
      return;
    }
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    if (!this.#isPaused && this.#bufferedBytes > this.#bufferedBytesMax) {
      this.#isPaused = true;
      this.#options.stream.pause();
    }
    this.#wake?.();
  }

  #refuse(): void {
    this.#chunks = [];
    this.#text = undefined;
    const message = `the answer is longer than ${this.#textBytesMax} bytes`;
    this.#outcome = { error: new TransportError("connection-lost", message) };
    this.#wake?.();
    this.#options.cancel();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#options.stream.resume();
  }

  #finish(outcome: { readonly error?: unknown }): void {
    this.#outcome ??= outcome;
    this.#wake?.();
  }
}

class GrowingText {
  readonly #decoder = new StringDecoder("utf8");
  #text = "";

  /** Takes the chunks over; an empty one stays in the list, as a sign that there were some. */
  constructor(chunks: Uint8Array[]) {
    for (const chunk of chunks) this.add(chunk);
    chunks.splice(0, chunks.length, nothing);
  }

  add(chunk: Uint8Array): void {
    this.#text += this.#decoder.write(asBuffer(chunk));
  }

  end(): string {
    return this.#text + this.#decoder.end();
  }
}

const nothing = new Uint8Array(0);

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

function decode(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  if (first === undefined) return "";
  const all = chunks.length === 1 ? first : Buffer.concat(chunks);
  return asBuffer(all).toString("utf8");
}

export function connectionLostError(path: string, cause: unknown): TransportError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new TransportError(
    "connection-lost",
    `the connection broke during ${path}${detail}`,
    cause,
  );
}
