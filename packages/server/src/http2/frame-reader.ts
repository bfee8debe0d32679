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
  #rest: Buffer | undefined;
  #isPrefaceRead = false;

  /** Hands every whole frame to `take`, in order. */
  read(arrived: Buffer, take: (frame: Frame) => void): void {
    const bytes = this.#rest === undefined ? arrived : Buffer.concat([this.#rest, arrived]);
    this.#rest = undefined;
    let at = 0;
    if (!this.#isPrefaceRead) {
      const known = Math.min(bytes.length, preface.length);
      if (preface.compare(bytes, 0, known, 0, known) !== 0)
        throw new ConnectionError(errorCode.protocolError, "this is not HTTP/2");
      if (known < preface.length) {
        this.#rest = bytes;
        return;
      }
      this.#isPrefaceRead = true;
      at = preface.length;
    }
    while (bytes.length - at >= frameHeadBytes) {
      const length = bytes.readUIntBE(at, 3);
      if (length > framePayloadBytesMax)
        throw new ConnectionError(errorCode.frameSizeError, `a frame of ${length} bytes`);
      const end = at + frameHeadBytes + length;
      if (end > bytes.length) break;
      take({
        type: bytes[at + 3] as number,
        flags: bytes[at + 4] as number,
        streamId: bytes.readUInt32BE(at + 5) & 0x7fff_ffff,
        payload: bytes.subarray(at + frameHeadBytes, end),
      });
      at = end;
    }
    // A copy: the rest may be a few bytes of a large buffer.
    if (at < bytes.length) this.#rest = Buffer.from(bytes.subarray(at));
  }
}
