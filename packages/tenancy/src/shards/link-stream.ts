/**
 * The bytes of one stream on a connection between shards, in each direction: a reader gives the
 * other side permission to send more as it reads, so that a slow client holds up nobody else.
 */
import { Duplex } from "node:stream";
import { dataBytesMax, type FrameWriter, frameType, windowBytes } from "./link-frames.ts";

/** Received bytes, read as a stream. */
export class InboundBytes implements AsyncIterable<Uint8Array> {
  readonly #id: number;
  readonly #writer: FrameWriter;
  readonly #onCancel: () => void;
  readonly #chunks: Uint8Array[] = [];
  #credit = 0;
  #state: "open" | "ended" | Error = "open";
  #wake: (() => void) | undefined;

  constructor(id: number, writer: FrameWriter, onCancel: () => void) {
    this.#id = id;
    this.#writer = writer;
    this.#onCancel = onCancel;
  }

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  end(error?: Error): void {
    if (this.#state !== "open") return;
    this.#state = error ?? "ended";
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      while (true) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) {
          this.#allow(chunk.length);
          yield chunk;
        } else if (this.#state === "ended") return;
        else if (this.#state instanceof Error) throw this.#state;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.destroy();
    }
  }

  /** The reader has left, also one that never began to read. */
  destroy(): void {
    if (this.#state === "open") {
      this.#state = "ended";
      this.#onCancel();
    }
    this.#chunks.length = 0;
    this.#wake?.();
  }

  #allow(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit < windowBytes / 2 || this.#state !== "open") return;
    this.#writer.number(frameType.window, this.#id, this.#credit);
    this.#credit = 0;
  }
}

/** Sends bytes as the other side permits. */
export class OutboundBytes {
  readonly #id: number;
  readonly #writer: FrameWriter;
  #window = windowBytes;
  #wake: (() => void) | undefined;
  isOver = false;

  constructor(id: number, writer: FrameWriter) {
    this.#id = id;
    this.#writer = writer;
  }

  allow(bytes: number): void {
    this.#window += bytes;
    this.#wake?.();
  }

  stop(): void {
    this.isOver = true;
    this.#wake?.();
  }

  async send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.isOver; ) {
      if (this.#window <= 0)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      else {
        const end = Math.min(bytes.length, at + dataBytesMax, at + this.#window);
        this.#writer.bytes(frameType.data, this.#id, bytes.subarray(at, end));
        this.#window -= end - at;
        at = end;
        await this.#writer.writable();
      }
    }
  }

  end(): void {
    if (!this.isOver) this.#writer.plain(frameType.end, this.#id);
    this.isOver = true;
  }
}

/** A session (exec, attach, port-forward) as a connection of its own. */
export function sessionOf(
  inbound: InboundBytes,
  outbound: OutboundBytes,
  onClose: () => void,
): Duplex {
  const chunks = inbound[Symbol.asyncIterator]();
  const duplex: Duplex = new Duplex({
    read() {
      chunks.next().then(
        ({ done, value }) => duplex.push(done === true ? null : value),
        (error: Error) => duplex.destroy(error),
      );
    },
    write(chunk: Buffer, _encoding, done) {
      outbound.send(chunk).then(() => done(), done);
    },
    final(done) {
      outbound.end();
      done();
    },
    destroy(error, done) {
      inbound.destroy();
      outbound.end();
      onClose();
      done(error);
    },
  });
  return duplex;
}
