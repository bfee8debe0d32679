/**
 * The outbound side of a connection: sends small frames at once, responses as far as windows and
 * the socket allow, and the streams in turns.
 */
import type { OutboundBudget } from "../event-loop/index.ts";
import { HeaderEncoder } from "./hpack.ts";
import {
  ConnectionError,
  type ErrorCode,
  errorCode,
  flag,
  frameHeadBytes,
  framePayloadBytesMax,
  frameType,
  windowDefault,
  windowMax,
} from "./protocol.ts";
import type { ServerStream } from "./server-stream.ts";

// A pool of buffers for large responses. Allocating each anew would make gigabytes of garbage,
// whose collection blocks the thread for ten milliseconds.

/** Four full frames. */
export const blockBytes = 4 * (frameHeadBytes + framePayloadBytesMax);
/** The number of unused buffers in the pool. */
export const freeBlocksMax = 64;

const free: Buffer[] = [];

export function takeBlock(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
}

export function giveBlock(block: Buffer): void {
  if (free.length < freeBlocksMax) free.push(block);
}

// Collects frames until the end of a turn: the responses of one turn share one write, and one TLS
// record.

export interface FrameTarget {
  /**
   * False when the peer does not keep up: `drained` is called later. `done` is called when the
   * bytes are no longer used.
   */
  write(bytes: Uint8Array, done?: () => void): boolean;
}

/**
 * Bodies from this size on are copied into pooled buffers; smaller ones into memory of their own.
 */
const blockedBytesMin = 4 << 10;

/** Joined frames from this size on go into a pooled buffer, too. */
const joinedInBlockMin = 8 << 10;

export class FrameWriter {
  readonly #target: FrameTarget;
  #pieces: Uint8Array[] = [];
  /** The frames that are in pooled buffers. */
  readonly #blocks = new Map<Uint8Array, Buffer>();
  /** The bytes that wait for the end of the turn, and while the peer does not keep up. */
  waitingBytes = 0;
  /** The buffer that is being filled; its content comes after all other frames. */
  #block: Buffer | undefined;
  #blockUsed = 0;
  #isScheduled = false;
  /** Frames of a turn leave together: the end of the turn flushes them. */
  isInTurn = false;
  /** Written bytes have not left yet: no large frame may be added. */
  isBlocked = false;

  constructor(target: FrameTarget) {
    this.#target = target;
  }

  drained(): void {
    this.isBlocked = false;
    this.flush();
  }

  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    const piece = Buffer.allocUnsafe(frameHeadBytes + payload.length);
    writeHead(piece, 0, payload.length, type, flags, streamId);
    piece.set(payload, frameHeadBytes);
    this.#add(piece);
  }

  /** A header block, and with it a body that fits into one frame, or none. */
  headers(streamId: number, block: Uint8Array, body: Uint8Array | undefined, isEnd: boolean): void {
    if (block.length > framePayloadBytesMax) {
      this.#longHeaders(streamId, block, isEnd && body === undefined);
      if (body !== undefined) this.data(streamId, body, isEnd);
      return;
    }
    const length = frameHeadBytes + block.length;
    const piece = Buffer.allocUnsafe(
      body === undefined ? length : length + frameHeadBytes + body.length,
    );
    const endFlag = isEnd ? flag.endStream : 0;
    const headFlags = flag.endHeaders | (body === undefined ? endFlag : 0);
    writeHead(piece, 0, block.length, frameType.headers, headFlags, streamId);
    piece.set(block, frameHeadBytes);
    if (body !== undefined) {
      writeHead(piece, length, body.length, frameType.data, endFlag, streamId);
      piece.set(body, length + frameHeadBytes);
    }
    this.#add(piece);
  }

  /** The body is copied at once, because its buffer may be reused. */
  data(streamId: number, body: Uint8Array, isEnd: boolean): void {
    if (body.length >= blockedBytesMin) {
      this.#copy(streamId, body, isEnd);
      return;
    }
    this.frame(frameType.data, isEnd ? flag.endStream : 0, streamId, body);
  }

  flush(): void {
    if (this.isBlocked || this.waitingBytes === 0) return;
    if (this.#block !== undefined) this.#closeBlock();
    const pieces = this.#pieces;
    if (pieces.length === 1 && this.#blocks.size === 0) {
      this.#pieces = [];
      this.waitingBytes = 0;
      this.isBlocked = !this.#target.write(pieces[0] as Uint8Array);
      return;
    }
    this.#pieces = [];
    this.waitingBytes = 0;
    let from = 0;
    // Pooled buffers are written as they are, the frames between them are joined.
    for (let at = 0; at <= pieces.length; at++) {
      const piece = pieces[at];
      if (piece !== undefined && !this.#blocks.has(piece)) continue;
      if (at > from)
        this.#writeJoined(from === 0 && at === pieces.length ? pieces : pieces.slice(from, at));
      if (piece !== undefined) this.#writeBlock(piece);
      from = at + 1;
    }
  }

  #writeBlock(piece: Uint8Array): void {
    const block = this.#blocks.get(piece) as Buffer;
    this.#blocks.delete(piece);
    this.isBlocked = !this.#target.write(piece, () => giveBlock(block));
  }

  #writeJoined(pieces: readonly Uint8Array[]): void {
    let from = 0;
    let bytes = 0;
    for (let at = 0; at < pieces.length; at++) {
      const { length } = pieces[at] as Uint8Array;
      if (bytes > 0 && bytes + length > blockBytes) {
        this.#writeTogether(pieces.slice(from, at), bytes);
        from = at;
        bytes = 0;
      }
      bytes += length;
    }
    this.#writeTogether(from === 0 ? pieces : pieces.slice(from), bytes);
  }

  #writeTogether(pieces: readonly Uint8Array[], bytes: number): void {
    if (pieces.length === 1) this.isBlocked = !this.#target.write(pieces[0] as Uint8Array);
    else if (bytes < joinedInBlockMin)
      this.isBlocked = !this.#target.write(Buffer.concat(pieces, bytes));
    else {
      const block = takeBlock();
      let at = 0;
      for (const piece of pieces) {
        block.set(piece, at);
        at += piece.length;
      }
      this.isBlocked = !this.#target.write(block.subarray(0, at), () => giveBlock(block));
    }
  }

  #copy(streamId: number, body: Uint8Array, isEnd: boolean): void {
    const bytes = frameHeadBytes + body.length;
    if (this.#blockUsed + bytes > blockBytes) this.#closeBlock();
    this.#block ??= takeBlock();
    const flags = isEnd ? flag.endStream : 0;
    writeHead(this.#block, this.#blockUsed, body.length, frameType.data, flags, streamId);
    this.#block.set(body, this.#blockUsed + frameHeadBytes);
    this.#blockUsed += bytes;
    this.waitingBytes += bytes;
    if (!this.isInTurn) this.#schedule();
  }

  #closeBlock(): void {
    if (this.#block === undefined) return;
    const piece = this.#block.subarray(0, this.#blockUsed);
    this.#blocks.set(piece, this.#block);
    this.#pieces.push(piece);
    this.#block = undefined;
    this.#blockUsed = 0;
  }

  #longHeaders(streamId: number, block: Uint8Array, isEnd: boolean): void {
    for (let at = 0; at < block.length; at += framePayloadBytesMax) {
      const part = block.subarray(at, at + framePayloadBytesMax);
      const isFirst = at === 0;
      const isLast = at + part.length === block.length;
      const flags = (isLast ? flag.endHeaders : 0) | (isFirst && isEnd ? flag.endStream : 0);
      this.frame(isFirst ? frameType.headers : frameType.continuation, flags, streamId, part);
    }
  }

  #add(piece: Uint8Array): void {
    if (this.#block !== undefined) this.#closeBlock();
    this.#pieces.push(piece);
    this.waitingBytes += piece.length;
    if (!this.isInTurn) this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flushLater);
  }

  readonly #flushLater = () => {
    this.#isScheduled = false;
    this.flush();
  };
}

function writeHead(
  target: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): void {
  target[at] = length >> 16;
  target[at + 1] = length >> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  target[at + 5] = streamId >> 24;
  target[at + 6] = streamId >> 16;
  target[at + 7] = streamId >> 8;
  target[at + 8] = streamId;
}

export interface OutboundOptions {
  /** Shared by the connections of a listener. */
  readonly budget: OutboundBudget;
  /**
   * False when the bytes did not leave at once; `drained` must be called when they have, and `done`
   * when the bytes are no longer needed.
   */
  readonly write: (bytes: Uint8Array, done?: () => void) => boolean;
  /** Called when the last frame of a response was sent. */
  readonly onResponseSent: (stream: ServerStream) => void;
  /** Called when the peer does not read. */
  readonly onPeerNotReading: () => void;
}

/**
 * The limit of unread control frames (acknowledgements, resets): a peer beyond it is gone or
 * malicious.
 */
export const unreadBytesMax = 1 << 20;
/** The bytes of large responses that are collected before they are written. */
const gatheredBytesMax = 64 << 10;
/** DATA frames below this size, with more bytes queued, are tiny. */
const sliverBytesMax = 64;
/** The number of tiny frames that counts as one useless frame. */
const sliversPerNoise = 8;

export class Outbound extends FrameWriter {
  readonly encoder = new HeaderEncoder();
  readonly #options: OutboundOptions;
  /** Streams with data to send and an open window, in the order of their turns. */
  readonly #ready = new Set<ServerStream>();
  /** Streams that have only a head or an end to send, which need neither a window nor a turn. */
  readonly #headersOrEndOnly = new Set<ServerStream>();
  #window = windowDefault;
  /** The bytes that were sent in this turn of the budget. */
  #sentBytes = 0;
  #iteration = 0;
  #isPumpScheduled = false;
  /** The number of sent DATA frames. */
  dataFrames = 0;
  /** The number of DATA frames that small windows made tiny, since the last query. */
  #tinyDataFrames = 0;

  constructor(options: OutboundOptions) {
    super(options);
    this.#options = options;
  }

  /** Called when the written bytes have left. */
  override drained(): void {
    super.drained();
    this.pump();
  }

  ready(stream: ServerStream): void {
    if (stream.answerHead !== undefined || stream.queuedBytes === 0)
      this.#headersOrEndOnly.add(stream);
    else this.#ready.add(stream);
    this.pump();
  }

  remove(stream: ServerStream): void {
    this.#headersOrEndOnly.delete(stream);
    this.#ready.delete(stream);
  }

  clear(): void {
    this.#headersOrEndOnly.clear();
    this.#ready.clear();
  }

  /** The peer accepts this many more bytes, on all streams together. */
  increaseWindow(bytes: number): void {
    if (bytes === 0) throw new ConnectionError(errorCode.protocolError, "a window that stays");
    this.#window += bytes;
    if (this.#window > windowMax) throw windowTooLarge();
    this.pump();
  }

  /**
   * The peer accepts this many more bytes on one stream; negative when the peer shrinks its initial
   * window.
   */
  increaseStreamWindow(stream: ServerStream, bytes: number): void {
    stream.sendWindow += bytes;
    if (stream.sendWindow > windowMax) throw windowTooLarge();
    if (stream.sendWindow > 0 && stream.queuedBytes > 0) this.ready(stream);
  }

  /** Sends an informational response, such as 100. */
  sendInformational(stream: ServerStream, status: number): void {
    this.headers(stream.id, this.encoder.encode(status, {}), undefined, false);
  }

  /**
   * Whether windows repeatedly allow next to nothing: a peer that opens them byte by byte causes a
   * frame, and a record, for each.
   */
  hadTinyDataFrames(): boolean {
    if (this.#tinyDataFrames < sliversPerNoise) return false;
    this.#tinyDataFrames -= sliversPerNoise;
    return true;
  }

  goAway(lastStreamId: number, code: ErrorCode): void {
    const payload = Buffer.allocUnsafe(8);
    payload.writeUInt32BE(lastStreamId);
    payload.writeUInt32BE(code, 4);
    this.sendControlFrame(frameType.goAway, 0, 0, payload);
  }

  reset(streamId: number, code: ErrorCode): void {
    this.sendControlFrame(frameType.resetStream, 0, streamId, number(code));
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.sendControlFrame(frameType.windowUpdate, 0, streamId, number(bytes));
  }

  sendControlFrame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.frame(type, flags, streamId, payload);
    if (this.isBlocked && this.waitingBytes > unreadBytesMax) this.#options.onPeerNotReading();
  }

  /** Sends heads and ends, then one frame of each ready stream, round robin. */
  pump(): void {
    for (const stream of this.#headersOrEndOnly) {
      if (!this.#hasRoom()) return;
      this.#headersOrEndOnly.delete(stream);
      this.#ready.delete(stream);
      if (this.#send(stream)) this.#ready.add(stream);
    }
    for (const stream of this.#ready) {
      if (this.#window === 0 || !this.#hasRoom()) return;
      if (!this.#hasBudget()) {
        this.#schedulePump();
        return;
      }
      this.#ready.delete(stream);
      if (this.#send(stream)) this.#ready.add(stream);
    }
  }

  #hasRoom(): boolean {
    if (this.waitingBytes >= gatheredBytesMax) this.flush();
    return !this.isBlocked;
  }

  #hasBudget(): boolean {
    const { budget } = this.#options;
    if (this.#iteration !== budget.turn) {
      this.#iteration = budget.turn;
      this.#sentBytes = 0;
    }
    return budget.allows(this.#sentBytes);
  }

  #schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    setImmediate(() => {
      this.#isPumpScheduled = false;
      this.pump();
    });
  }

  /** Sends one frame, or the head and one; returns whether more may be sent. */
  #send(stream: ServerStream): boolean {
    const room = Math.min(framePayloadBytesMax, stream.sendWindow, this.#window);
    const part = room > 0 && stream.queuedBytes > 0 ? stream.takeBytes(room) : nothing;
    const isEnd = stream.isEnding && stream.queuedBytes === 0;
    const head = stream.answerHead;
    stream.answerHead = undefined;
    stream.hasProgressed = true;
    const isEmpty = part.length === 0;
    if (head !== undefined) {
      const block = this.encoder.encode(head.status, head.headers);
      this.headers(stream.id, block, isEmpty ? undefined : part, isEnd);
    } else if (!isEmpty || isEnd) this.data(stream.id, part, isEnd);
    stream.sendWindow -= part.length;
    this.#window -= part.length;
    if (!isEmpty) {
      this.dataFrames++;
      if (room < sliverBytesMax && stream.queuedBytes > 0) this.#tinyDataFrames++;
      this.#sentBytes += part.length;
      this.#options.budget.spend(part.length);
    }
    if (isEnd) this.#options.onResponseSent(stream);
    return stream.queuedBytes > 0 && stream.sendWindow > 0;
  }
}

const nothing = new Uint8Array();

function windowTooLarge(): ConnectionError {
  return new ConnectionError(errorCode.flowControlError, "a window that is too large");
}

function number(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
