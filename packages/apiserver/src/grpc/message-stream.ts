/**
 * A bidirectional gRPC call that is read message by message.
 *
 * Unread messages are bounded: beyond `unreadBytesMax` the HTTP/2 stream is paused, so that flow
 * control stops the server.
 */
import type { Connection, Metadata } from "./connection.ts";
import { GrpcError, grpcCode } from "./grpc-error.ts";
import type { GrpcStream } from "./grpc-stream.ts";

export class MessageStream {
  readonly #stream: GrpcStream;
  readonly #unreadBytesMax: number;
  #unread: Uint8Array[] = [];
  #unreadBytes = 0;
  #paused = false;
  #end: { readonly error: GrpcError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(connection: Connection, path: string, options: MessageStreamOptions) {
    this.#unreadBytesMax = options.unreadBytesMax ?? 4 << 20;
    this.#stream = connection.start(path, options.metadata, {
      onActivity() {},
      onMessage: (message) => this.#receive(message),
      onEnd: (error) => {
        this.#end = { error };
        this.#wake?.();
      },
    });
  }

  send(message: Uint8Array): void {
    this.#stream.send(message);
  }

  /**
   * The next message; undefined when the server ended the call with status OK. Rejects with a
   * `GrpcError`.
   */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const message = this.#unread.shift();
      if (message !== undefined) {
        this.#unreadBytes -= message.length;
        if (this.#paused && this.#unreadBytes <= this.#unreadBytesMax) {
          this.#paused = false;
          this.#stream.resume();
        }
        return message;
      }
      if (this.#end?.error !== undefined) throw this.#end.error;
      if (this.#end !== undefined) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  /** Ends the call; a pending `next` rejects with `cancelled`. */
  cancel(): void {
    this.#unread = [];
    this.#unreadBytes = 0;
    this.#stream.abort(new GrpcError(grpcCode.cancelled, "the reader is done", "unknown"));
  }

  #receive(message: Uint8Array): void {
    this.#unread.push(message);
    this.#unreadBytes += message.length;
    if (this.#unreadBytes > this.#unreadBytesMax && !this.#paused) {
      this.#paused = true;
      this.#stream.pause();
    }
    this.#wake?.();
  }
}

export interface MessageStreamOptions {
  readonly metadata: Metadata;
  readonly unreadBytesMax?: number | undefined;
}
