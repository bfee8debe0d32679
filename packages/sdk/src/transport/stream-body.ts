/**
 * The body of a response from a Node stream, HTTP/1.1 or HTTP/2.
 *
 * Node's own async iterator costs several times what the read itself does, so this one uses two
 * listeners. A truncated body is an error, never a short body.
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
  /** Whether an `end` event means that the body is complete. */
  readonly isComplete: () => boolean;
  /** Cancels the rest of the body. */
  readonly cancel: () => void;
  /**
   * The error of the broken stream; the signal's reason if it was aborted. Called only when it is
   * needed: creating an error is expensive.
   */
  readonly failure: (cause: unknown) => unknown;
  /** The limit of a body that is read in full. */
  readonly textBytesMax?: number;
}

/**
 * Beyond this number of bytes the stream is paused, and the server's window fills up instead of
 * this process's memory.
 */
export const bodyBufferedBytesMax = 1 << 20;

/**
 * The limit of a body that is read in full: no honest server sends that much, compressed it may be
 * a thousandth on the wire, and V8's longest string is twice this.
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
  /** Set from the second chunk on: most bodies have one. */
  #text: GrowingText | undefined;

  /**
   * Reads from the start, up to the limit: a body that has already arrived needs no further turn of
   * the event loop.
   */
  constructor(options: StreamBodyOptions) {
    this.#options = options;
    const { stream, isComplete } = options;
    stream.on("data", (chunk) => this.#take(chunk));
    stream.on("end", () => (isComplete() ? this.#finish({}) : this.closed()));
  }

  /**
   * Called by the owner of the stream when it fails or is closed. After a complete body it has no
   * effect.
   */
  closed(cause?: unknown): void {
    if (this.#outcome === undefined) this.#finish({ error: this.#options.failure(cause) });
  }

  /**
   * Chunks are decoded as they arrive: the buffers of a long body are released before it is
   * complete.
   */
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

  /** Takes the chunks; an empty one stays in the list, as a marker that there were some. */
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
