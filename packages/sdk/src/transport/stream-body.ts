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
}

/** Beyond this the stream is paused, and the server's window fills up instead of our memory. */
export const bodyBufferedBytesMax = 1 << 20;

export class StreamBody implements ResponseBody, AsyncIterator<Uint8Array> {
  readonly #options: StreamBodyOptions;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #bufferedBytesMax = bodyBufferedBytesMax;
  #isPaused = false;
  #outcome: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;
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
  text(): Promise<string> {
    this.#bufferedBytesMax = Number.POSITIVE_INFINITY;
    this.#resume();
    if (this.#outcome === undefined) {
      const text = new GrowingText();
      for (const chunk of this.#chunks) text.add(chunk);
      this.#chunks = [];
      this.#text = text;
    }
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
    if (this.#text !== undefined) {
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

/** A short body is one chunk, and decoded at once. */
class GrowingText {
  #first: Uint8Array | undefined;
  #decoder: StringDecoder | undefined;
  #text = "";

  add(chunk: Uint8Array): void {
    if (this.#decoder === undefined) {
      if (this.#first === undefined) {
        this.#first = chunk;
        return;
      }
      this.#decoder = new StringDecoder("utf8");
      this.#text = this.#decoder.write(asBuffer(this.#first));
    }
    this.#text += this.#decoder.write(asBuffer(chunk));
  }

  end(): string {
    if (this.#decoder !== undefined) return this.#text + this.#decoder.end();
    return this.#first === undefined ? "" : asBuffer(this.#first).toString("utf8");
  }
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

function decode(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  if (first === undefined) return "";
  const all = chunks.length === 1 ? first : Buffer.concat(chunks);
  return asBuffer(all).toString("utf8");
}

export function lost(path: string, cause: unknown): TransportError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new TransportError(
    "connection-lost",
    `the connection broke during ${path}${detail}`,
    cause,
  );
}
