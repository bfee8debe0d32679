/**
 * WebSocket on bytes (RFC 6455): frames out, frames in. No sockets here.
 *
 *     ┌───────────────┬─────────────────┬──────────┬──────┬─────────┐
 *     │ FIN, opcode 1 │ MASK, length  1 │ 0, 2, 8  │ 0, 4 │ payload │
 *     └───────────────┴─────────────────┴──────────┴──────┴─────────┘
 *
 * Frames of a client are masked with a key of their own; frames of a server are not. Extensions are
 * never negotiated.
 */
export const opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  /** Unmasked; a copy that belongs to the reader. */
  readonly payload: Buffer;
}

/** A violation of the protocol by the peer. */
export class WebSocketError extends Error {
  override readonly name = "WebSocketError";
  /** The status with which the connection is closed. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const maskBit = 0x80;
const finalBit = 0x80;
const reservedBits = 0x70;
const controlBytesMax = 125;

/** One complete message in one frame. `maskKey` of four bytes for a client. */
export function encodeFrame(
  code: number,
  parts: readonly Uint8Array[],
  maskKey: Uint8Array | undefined,
): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const start = 2 + lengthBytes + (maskKey === undefined ? 0 : 4);
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = finalBit | code;
  const bit = maskKey === undefined ? 0 : maskBit;
  frame[1] = bit | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  let at = start;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  if (maskKey !== undefined) {
    frame.set(maskKey, start - 4);
    mask(frame.subarray(start), maskKey);
  }
  return frame;
}

/**
 * Masks in place; masking twice restores the bytes. Works on aligned words where possible: most
 * bytes of a tunnel are masked twice.
 */
function mask(bytes: Buffer, key: Uint8Array): void {
  const { length } = bytes;
  const start = Math.min(length, (4 - (bytes.byteOffset % 4)) % 4);
  for (let at = 0; at < start; at++) (bytes[at] as number) ^= key[at % 4] as number;
  const count = (length - start) >>> 2;
  if (count > 0) {
    const turned = Uint8Array.from([0, 1, 2, 3], (at) => key[(start + at) % 4] as number);
    const word = new Int32Array(turned.buffer)[0] as number;
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, count);
    for (let at = 0; at < count; at++) (words[at] as number) ^= word;
  }
  for (let at = start + count * 4; at < length; at++)
    (bytes[at] as number) ^= key[at % 4] as number;
}

export interface FrameReaderOptions {
  /** Whether frames must be masked: those of clients are, and only those. */
  readonly expectsMask: boolean;
  readonly payloadBytesMax: number;
}

/**
 * Takes bytes as they arrive and returns frames as soon as they are complete. Throws a
 * WebSocketError on a violation of the protocol.
 */
export class FrameReader {
  readonly #options: FrameReaderOptions;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  push(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
  }

  next(): Frame | undefined {
    if (this.#bytes < 2) return undefined;
    const head = this.#look(Math.min(this.#bytes, 14));
    const first = head[0] as number;
    const second = head[1] as number;
    if ((first & reservedBits) !== 0) throw new WebSocketError(1002, "reserved bits are set");
    const isMasked = (second & maskBit) !== 0;
    if (isMasked !== this.#options.expectsMask)
      throw new WebSocketError(1002, isMasked ? "a server masks nothing" : "clients mask");
    const short = second & 0x7f;
    const lengthBytes = short < 126 ? 0 : short === 126 ? 2 : 8;
    const start = 2 + lengthBytes + (isMasked ? 4 : 0);
    if (this.#bytes < start) return undefined;
    const length = lengthOf(head, short);
    const code = first & 0x0f;
    const isFinal = (first & finalBit) !== 0;
    if (code >= 8 && (length > controlBytesMax || !isFinal))
      throw new WebSocketError(1002, "control frames are short and whole");
    if (length > this.#options.payloadBytesMax)
      throw new WebSocketError(1009, `more than ${this.#options.payloadBytesMax} bytes at once`);
    if (this.#bytes < start + length) return undefined;
    const whole = this.#take(start + length);
    const payload = whole.subarray(start);
    if (isMasked) mask(payload, whole.subarray(start - 4, start));
    return { opcode: code, isFinal, payload };
  }

  /** The first bytes, concatenated; they stay in the buffer. */
  #look(count: number): Buffer {
    const [first] = this.#parts;
    if (first !== undefined && first.length >= count) return first;
    this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0] as Buffer;
  }

  #take(count: number): Buffer {
    const taken: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      const part = this.#parts[0] as Buffer;
      if (part.length <= missing) {
        taken.push(part);
        this.#parts.shift();
        missing -= part.length;
        continue;
      }
      taken.push(part.subarray(0, missing));
      this.#parts[0] = part.subarray(missing);
      missing = 0;
    }
    this.#bytes -= count;
    return taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken);
  }
}

function lengthOf(head: Buffer, short: number): number {
  if (short < 126) return short;
  return short === 126 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
}
