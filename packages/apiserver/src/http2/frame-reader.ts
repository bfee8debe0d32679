/** Cuts what arrives into frames. Keeps at most one unfinished frame. */
import {
  ConnectionError,
  clientPreface,
  errorCode,
  frameHeadBytes,
  framePayloadBytesMax,
} from "./protocol.ts";

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  /** A view of what arrived: to be used or copied at once. */
  readonly payload: Buffer;
}

const preface = Buffer.from(clientPreface, "latin1");

export class FrameReader {
  #bytes: Buffer = nothing;
  #at = 0;
  #isPrefaceRead = false;

  push(arrived: Buffer): void {
    this.#bytes =
      this.#at === this.#bytes.length
        ? arrived
        : Buffer.concat([this.#bytes.subarray(this.#at), arrived]);
    this.#at = 0;
  }

  /** Nothing of what arrived is left. */
  get isEmpty(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** The next whole frame, in order. */
  next(): Frame | undefined {
    const bytes = this.#bytes;
    if (!this.#isPrefaceRead && !this.#readPreface()) return undefined;
    const at = this.#at;
    if (bytes.length - at < frameHeadBytes) return this.#keepRest();
    const length = bytes.readUIntBE(at, 3);
    if (length > framePayloadBytesMax)
      throw new ConnectionError(errorCode.frameSizeError, `a frame of ${length} bytes`);
    const end = at + frameHeadBytes + length;
    if (end > bytes.length) return this.#keepRest();
    this.#at = end;
    return {
      type: bytes[at + 3] as number,
      flags: bytes[at + 4] as number,
      streamId: bytes.readUInt32BE(at + 5) & 0x7fff_ffff,
      payload: bytes.subarray(at + frameHeadBytes, end),
    };
  }

  #readPreface(): boolean {
    const known = Math.min(this.#bytes.length, preface.length);
    if (preface.compare(this.#bytes, 0, known, 0, known) !== 0)
      throw new ConnectionError(errorCode.protocolError, "this is not HTTP/2");
    if (known < preface.length) return false;
    this.#isPrefaceRead = true;
    this.#at = preface.length;
    return true;
  }

  /** A copy: the rest may be a few bytes of a large buffer. */
  #keepRest(): undefined {
    if (this.#at === 0) return;
    const rest = this.#bytes.subarray(this.#at);
    this.#bytes = rest.length === 0 ? nothing : Buffer.from(rest);
    this.#at = 0;
  }
}

const nothing = Buffer.alloc(0);
