/**
 * The body of a response that comes in on a Node stream, HTTP/1.1 or HTTP/2.
 *
 * Node's own async iterator costs several times what the read itself does, so this one is made of four listeners. A body that was cut off
 * is an error, never a short body.
 */
import { Buffer } from "node:buffer";
import { type ResponseBody, TransportError } from "../client/index.ts";

export interface ByteStream {
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "end" | "close" | "aborted", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

export interface StreamBodyOptions {
  readonly stream: ByteStream;
  /** Whether an `end` means that all of the body came. */
  readonly isComplete: () => boolean;
  /** Gives up on the rest of the body. */
  readonly cancel: () => void;
  /** Why the stream broke; the signal's reason if it was aborted. */
  readonly failure: (cause: unknown) => unknown;
}

/** Beyond this the stream is paused, and the server's window fills up instead of our memory. */
export const bodyBufferedBytesMax = 1 << 20;

export class StreamBody implements ResponseBody {
  readonly #options: StreamBodyOptions;

  constructor(options: StreamBodyOptions) {
    this.#options = options;
  }

  text(): Promise<string> {
    const { stream, isComplete, failure } = this.#options;
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let settled = false;
      // Making an error is dearer than all the rest here: only when it is needed.
      const fail = (cause?: unknown) => {
        if (settled) return;
        settled = true;
        reject(failure(cause));
      };
      stream.on("data", (chunk) => chunks.push(chunk));
      stream.on("end", () => {
        if (settled || !isComplete()) return fail();
        settled = true;
        resolve(decode(chunks));
      });
      stream.on("error", fail);
      stream.on("aborted", fail);
      stream.on("close", fail);
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return new StreamBodyIterator(this.#options);
  }
}

function decode(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  if (first === undefined) return "";
  const all = chunks.length === 1 ? first : Buffer.concat(chunks);
  return Buffer.from(all.buffer, all.byteOffset, all.byteLength).toString("utf8");
}

class StreamBodyIterator implements AsyncIterator<Uint8Array> {
  readonly #options: StreamBodyOptions;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #paused = false;
  #outcome: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(options: StreamBodyOptions) {
    this.#options = options;
    const { stream, isComplete, failure } = options;
    const fail = (cause?: unknown) => {
      if (this.#outcome === undefined) this.#finish({ error: failure(cause) });
    };
    stream.on("data", (chunk) => this.#take(chunk));
    stream.on("end", () => (isComplete() ? this.#finish({}) : fail()));
    stream.on("error", fail);
    stream.on("aborted", fail);
    stream.on("close", fail);
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#bufferedBytes -= chunk.length;
        if (this.#paused && this.#bufferedBytes < bodyBufferedBytesMax / 2) {
          this.#paused = false;
          this.#options.stream.resume();
        }
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
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    if (!this.#paused && this.#bufferedBytes > bodyBufferedBytesMax) {
      this.#paused = true;
      this.#options.stream.pause();
    }
    this.#wake?.();
  }

  #finish(outcome: { readonly error?: unknown }): void {
    this.#outcome ??= outcome;
    this.#wake?.();
  }
}

export function lost(path: string, cause: unknown): TransportError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new TransportError(
    "connection-lost",
    `the connection broke during ${path}${detail}`,
    cause,
  );
}
