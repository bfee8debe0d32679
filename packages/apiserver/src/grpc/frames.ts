/**
 * gRPC's length-prefixed messages: one flag byte, four bytes of length, the message.
 *
 * Compression is never offered, so a compressed message is a protocol error.
 */
import { GrpcError, grpcCode } from "./grpc-error.ts";

const headerBytes = 5;

export function encodeFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headerBytes);
  return frame;
}

/**
 * Splits a byte stream into messages. Memory grows with received bytes, never with an announced
 * length.
 */
export class FrameReader {
  readonly #messageBytesMax: number;
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** The length of the message whose header has been read. */
  #expected: number | undefined;

  constructor(messageBytesMax: number) {
    this.#messageBytesMax = messageBytesMax;
  }

  /** Whether the stream is between two messages. */
  get atBoundary(): boolean {
    return this.#buffered === 0 && this.#expected === undefined;
  }

  /** The messages that the new bytes complete. Each has memory of its own. */
  push(bytes: Buffer): Uint8Array[] {
    this.#chunks.push(bytes);
    this.#buffered += bytes.length;
    const messages: Uint8Array[] = [];
    for (;;) {
      if (this.#expected === undefined) {
        if (this.#buffered < headerBytes) return messages;
        this.#expected = this.#readHeader(this.#take(headerBytes));
      }
      if (this.#buffered < this.#expected) return messages;
      const message = this.#take(this.#expected);
      this.#expected = undefined;
      messages.push(new Uint8Array(message.buffer, message.byteOffset, message.length));
    }
  }

  #readHeader(header: Buffer): number {
    if (header[0] !== 0) {
      throw new GrpcError(
        grpcCode.internal,
        `message with flags ${header[0]}: the peer compresses or does not speak gRPC`,
        "unknown",
      );
    }
    const length = header.readUInt32BE(1);
    if (length > this.#messageBytesMax) {
      throw new GrpcError(
        grpcCode.resourceExhausted,
        `message of ${length} bytes is over the limit of ${this.#messageBytesMax}`,
        "unknown",
      );
    }
    return length;
  }

  #take(count: number): Buffer {
    const first = this.#chunks[0];
    this.#buffered -= count;
    if (first !== undefined && first.length >= count) {
      if (first.length === count) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = whole.length === count ? [] : [whole.subarray(count)];
    return whole.subarray(0, count);
  }
}
