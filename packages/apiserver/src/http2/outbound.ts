/**
 * What a connection sends: small frames at once, answers as far as windows and the socket allow,
 * each stream in its turn.
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

// Memory for large answers on their way out is used again and again. Allocated anew for each, it
// would be garbage by the gigabyte, and collecting that holds the thread for ten milliseconds.

/** Four full frames. */
export const blockBytes = 4 * (frameHeadBytes + framePayloadBytesMax);
/** So many are kept while nobody needs them. */
export const freeBlocksMax = 64;

const free: Buffer[] = [];

export function takeBlock(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
}

export function giveBlock(block: Buffer): void {
  if (free.length < freeBlocksMax) free.push(block);
}

// What is to be sent, gathered until the end of a turn: the answers of one turn share one write, and one TLS record.

export interface FrameTarget {
  /** False when the peer does not keep up: `drained` is called later. `done` is called when the bytes are no longer looked at. */
  write(bytes: Uint8Array, done?: () => void): boolean;
}

/** Bodies from this size on are copied into blocks that are used again and again; smaller ones into memory of their own. */
const blockedBytesMin = 4 << 10;

/** What is joined goes into such a block, too, when it is this much. */
const joinedInBlockMin = 8 << 10;

export class FrameWriter {
  readonly #target: FrameTarget;
  #pieces: Uint8Array[] = [];
  /** Which of the pieces are blocks. */
  readonly #blocks = new Map<Uint8Array, Buffer>();
  /** What waits for the end of the turn, and while the peer does not keep up. */
  waitingBytes = 0;
  /** The block that is being filled; what is in it comes after all pieces. */
  #block: Buffer | undefined;
  #blockUsed = 0;
  #isScheduled = false;
  /** What is sent until it ends leaves together. */
  #isInTurn = false;
  /** What was sent has not left yet: nothing large may be added. */
  isBlocked = false;

  constructor(target: FrameTarget) {
    this.#target = target;
  }

  drained(): void {
    this.isBlocked = false;
    this.flush();
  }

  /** What is sent between these two leaves together. */
  beginTurn(): void {
    this.#isInTurn = true;
  }

  endTurn(): void {
    this.#isInTurn = false;
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

  /** The body is not looked at later: it may be memory that is lent. */
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
    // Blocks go as they are, what is between them together.
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
    if (!this.#isInTurn) this.#schedule();
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
    if (!this.#isInTurn) this.#schedule();
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
  /** False when it did not leave at once; `drained` must be called when it has, and `done` when the bytes are no longer needed. */
  readonly write: (bytes: Uint8Array, done?: () => void) => boolean;
  /** The last frame of an answer was sent. */
  readonly onAnswered: (stream: ServerStream) => void;
  /** The peer does not read what it is sent. */
  readonly onStuck: () => void;
}

/** Small answers to what a peer sends (acknowledgements, resets) that it does not read: beyond it, it is gone or means harm. */
export const unreadBytesMax = 1 << 20;
/** So much of large answers is gathered before it is written. */
const gatheredBytesMax = 64 << 10;
/** Frames of fewer bytes, of which more waits, are slivers. */
const sliverBytesMax = 64;
/** So many of them count as one frame that brings nothing. */
const sliversPerNoise = 8;

export class Outbound extends FrameWriter {
  readonly encoder = new HeaderEncoder();
  readonly #options: OutboundOptions;
  /** Streams with something to send and a window to send it in, in the order of their turns. */
  readonly #ready = new Set<ServerStream>();
  /** Those that have a head or an end to send, which need neither a window nor a turn. */
  readonly #light = new Set<ServerStream>();
  #window = windowDefault;
  /** What was sent in this turn of the budget. */
  #sentBytes = 0;
  #turn = 0;
  #isTurnAsked = false;
  /** Frames of data that were sent. */
  dataFrames = 0;
  /** Those of them that were cut to a few bytes by their windows, as far as they were not asked about yet. */
  #slivers = 0;

  constructor(options: OutboundOptions) {
    super(options);
    this.#options = options;
  }

  /** What was written has left. */
  override drained(): void {
    super.drained();
    this.pump();
  }

  ready(stream: ServerStream): void {
    if (stream.answerHead !== undefined || stream.queuedBytes === 0) this.#light.add(stream);
    else this.#ready.add(stream);
    this.pump();
  }

  forget(stream: ServerStream): void {
    this.#light.delete(stream);
    this.#ready.delete(stream);
  }

  forgetAll(): void {
    this.#light.clear();
    this.#ready.clear();
  }

  /** The peer takes so many bytes more, on all streams together. */
  widen(bytes: number): void {
    if (bytes === 0) throw new ConnectionError(errorCode.protocolError, "a window that stays");
    this.#window += bytes;
    if (this.#window > windowMax) throw windowTooLarge();
    this.pump();
  }

  /** The same of one stream; negative when the peer changed its mind about what a window is. */
  widenStream(stream: ServerStream, bytes: number): void {
    stream.sendWindow += bytes;
    if (stream.sendWindow > windowMax) throw windowTooLarge();
    if (stream.sendWindow > 0 && stream.queuedBytes > 0) this.ready(stream);
  }

  /** An answer before the answer, such as 100. */
  interim(stream: ServerStream, status: number): void {
    this.headers(stream.id, this.encoder.encode(status, {}), undefined, false);
  }

  /** Whether windows let through next to nothing, again and again: who opens them byte by byte has a frame, and a record, for each. */
  takeSlivers(): boolean {
    if (this.#slivers < sliversPerNoise) return false;
    this.#slivers -= sliversPerNoise;
    return true;
  }

  goAway(lastStreamId: number, code: ErrorCode): void {
    const payload = Buffer.allocUnsafe(8);
    payload.writeUInt32BE(lastStreamId);
    payload.writeUInt32BE(code, 4);
    this.small(frameType.goAway, 0, 0, payload);
  }

  reset(streamId: number, code: ErrorCode): void {
    this.small(frameType.resetStream, 0, streamId, number(code));
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.small(frameType.windowUpdate, 0, streamId, number(bytes));
  }

  small(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.frame(type, flags, streamId, payload);
    if (this.isBlocked && this.waitingBytes > unreadBytesMax) this.#options.onStuck();
  }

  /** Heads and ends, then one frame of each stream that has something to send, round and round. */
  pump(): void {
    for (const stream of this.#light) {
      if (!this.#hasRoom()) return;
      this.#light.delete(stream);
      this.#ready.delete(stream);
      if (this.#send(stream)) this.#ready.add(stream);
    }
    for (const stream of this.#ready) {
      if (this.#window === 0 || !this.#hasRoom()) return;
      if (!this.#isTurn()) {
        this.#askForTurn();
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

  #isTurn(): boolean {
    const { budget } = this.#options;
    if (this.#turn !== budget.turn) {
      this.#turn = budget.turn;
      this.#sentBytes = 0;
    }
    return budget.allows(this.#sentBytes);
  }

  #askForTurn(): void {
    if (this.#isTurnAsked) return;
    this.#isTurnAsked = true;
    setImmediate(() => {
      this.#isTurnAsked = false;
      this.pump();
    });
  }

  /** One frame, or the head and one; whether there is more that may go. */
  #send(stream: ServerStream): boolean {
    const room = Math.min(framePayloadBytesMax, stream.sendWindow, this.#window);
    const part = room > 0 && stream.queuedBytes > 0 ? stream.takeBytes(room) : nothing;
    const isEnd = stream.isEnding && stream.queuedBytes === 0;
    const head = stream.takeHead();
    const isEmpty = part.length === 0;
    if (head !== undefined) {
      const block = this.encoder.encode(head.status, head.headers);
      this.headers(stream.id, block, isEmpty ? undefined : part, isEnd);
    } else if (!isEmpty || isEnd) this.data(stream.id, part, isEnd);
    stream.sendWindow -= part.length;
    this.#window -= part.length;
    if (!isEmpty) {
      this.dataFrames++;
      if (room < sliverBytesMax && stream.queuedBytes > 0) this.#slivers++;
      this.#sentBytes += part.length;
      this.#options.budget.spend(part.length);
    }
    if (isEnd) this.#options.onAnswered(stream);
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
