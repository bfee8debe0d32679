/** Splits received bytes into frames. Keeps at most one unfinished frame. */
import type { HeaderField } from "./hpack.ts";
import {
  ConnectionError,
  clientPreface,
  errorCode,
  flag,
  frameHeadBytes,
  framePayloadBytesMax,
  frameType,
} from "./protocol.ts";

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  /** A view of received bytes: to be used or copied at once. */
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

  /** Whether no received bytes remain. */
  get isEmpty(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** The next complete frame, in order. */
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

  /** Copies the rest, which may be a few bytes of a large buffer. */
  #keepRest(): undefined {
    if (this.#at === 0) return;
    const rest = this.#bytes.subarray(this.#at);
    this.#bytes = rest.length === 0 ? nothing : Buffer.from(rest);
    this.#at = 0;
  }
}

const nothing = Buffer.alloc(0);

// Checks that apply to every type of frame.

/** The payload of a frame, without its padding. */
export function unpadded({ flags, payload }: Frame): Buffer {
  if ((flags & flag.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined || padding >= payload.length)
    throw protocolError("more padding than frame");
  return payload.subarray(1, payload.length - padding);
}

export function checkLength({ payload, type }: Frame, bytes: number): void {
  if (payload.length !== bytes)
    throw new ConnectionError(
      errorCode.frameSizeError,
      `a frame of type ${type} of the wrong size`,
    );
}

/** Whether no peer has opened the stream; servers open none. */
export function isIdle(streamId: number, lastStreamId: number): boolean {
  return streamId % 2 === 0 || streamId > lastStreamId;
}

/** The priority of a stream begins with the stream that it depends on. */
export function dependsOnItself(streamId: number, priority: Buffer): boolean {
  return (priority.readUInt32BE(0) & 0x7fff_ffff) === streamId;
}

export function checkGoAway({ streamId, payload }: Frame): void {
  if (streamId !== 0) throw protocolError("a farewell of a stream");
  if (payload.length < 8) throw new ConnectionError(errorCode.frameSizeError, "a short farewell");
}

export function protocolError(message: string): ConnectionError {
  return new ConnectionError(errorCode.protocolError, message);
}

// Assembles header blocks from their frames (RFC 9113, 6.2 and 6.10).

/** The maximal number of frames of a header block. */
export const headerFramesMax = 64;

export interface HeaderBlock {
  readonly streamId: number;
  readonly isEnd: boolean;
  /** Whether the priority is invalid, which makes the request malformed. */
  readonly isSelfDependent: boolean;
  /** A view of received bytes, or a copy: to be used at once. */
  readonly payload: Buffer;
}

interface OpenBlock extends HeaderBlock {
  readonly parts: Buffer[];
  bytes: number;
}

export class HeaderBlocks {
  readonly #bytesMax: number;
  /** The unfinished block, during which no other frame is allowed. */
  open: OpenBlock | undefined;

  /** Compressed, a block of the allowed size is smaller than its limit. */
  constructor(headerBytesMax: number) {
    this.#bytesMax = headerBytesMax * 2;
  }

  /** The complete block, if this frame has all of it. */
  begin(frame: Frame): HeaderBlock | undefined {
    const { streamId, flags } = frame;
    if (streamId % 2 === 0) throw protocolError(`a request with the number ${streamId}`);
    let payload = unpadded(frame);
    let isSelfDependent = false;
    if ((flags & flag.priority) !== 0) {
      if (payload.length < 5) throw new ConnectionError(errorCode.frameSizeError, "no priority");
      isSelfDependent = dependsOnItself(streamId, payload);
      payload = payload.subarray(5);
    }
    const isEnd = (flags & flag.endStream) !== 0;
    const block: HeaderBlock = { streamId, isEnd, isSelfDependent, payload };
    if ((flags & flag.endHeaders) !== 0) return block;
    // A copy: the rest arrives with later bytes.
    this.open = { ...block, parts: [Buffer.from(payload)], bytes: payload.length };
    return undefined;
  }

  /** The complete block, if this frame was the rest of it. */
  goOn({ type, streamId, flags, payload }: Frame): HeaderBlock | undefined {
    const block = this.open as OpenBlock;
    if (type !== frameType.continuation || streamId !== block.streamId)
      throw protocolError("a header block was not finished");
    block.bytes += payload.length;
    block.parts.push(Buffer.from(payload));
    // Many small parts are an attack.
    if (block.bytes > this.#bytesMax || block.parts.length > headerFramesMax)
      throw new ConnectionError(errorCode.enhanceYourCalm, "a header block without end");
    if ((flags & flag.endHeaders) === 0) return undefined;
    this.open = undefined;
    return { ...block, payload: Buffer.concat(block.parts) };
  }
}

// Parses the fields of a header block to the head of a request, by the rules of RFC 9113, 8.2 and
// 8.3.

export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** Names in lower case, `:authority` included; repeated headers are joined. */
  readonly headers: Readonly<Record<string, string>>;
  /** The fields as received, one by one: for headers whose values may contain commas. */
  readonly fields: readonly HeaderField[];
  /** The announced length; undefined without one. */
  readonly contentLength: number | undefined;
}

/** Connection-specific headers, for which HTTP/2 has frames. */
const connectionNames = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Undefined when the request is malformed: its stream is then reset. */
export function readHead(fields: readonly HeaderField[]): RequestHead | undefined {
  // Without a prototype: clients choose the names.
  const headers: Record<string, string> = Object.create(null);
  let method: string | undefined;
  let path: string | undefined;
  let scheme: string | undefined;
  let isPastPseudo = false;
  for (const { name, value, isValid } of fields) {
    if (!isValid) return undefined;
    if (name.charCodeAt(0) !== colon) {
      isPastPseudo = true;
      if (connectionNames.has(name) || (name === "te" && value !== "trailers")) return undefined;
      const before = headers[name];
      headers[name] =
        before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`;
      continue;
    }
    if (isPastPseudo) return undefined;
    if (name === ":method" && method === undefined) method = value;
    else if (name === ":path" && path === undefined) path = value;
    else if (name === ":scheme" && scheme === undefined) scheme = value;
    else if (name === ":authority" && headers[name] === undefined) headers[name] = value;
    else return undefined;
  }
  if (method === undefined || scheme === undefined || !path || method === "CONNECT")
    return undefined;
  const announced = headers["content-length"];
  if (announced === undefined) return { method, path, headers, fields, contentLength: undefined };
  if (!/^\d{1,15}$/.test(announced)) return undefined;
  return { method, path, headers, fields, contentLength: Number(announced) };
}

/** Validates trailers, which the server ignores otherwise. */
export function isTrailer(fields: readonly HeaderField[]): boolean {
  return fields.every(({ name, isValid }) => isValid && name.charCodeAt(0) !== colon);
}

const colon = 0x3a;
