/**
 * What is to be sent, gathered until the end of a turn: the answers of one turn share one write, and one TLS record.
 */
import { blockBytes, giveBlock, takeBlock } from "./blocks.ts";
import { flag, frameHeadBytes, framePayloadBytesMax, frameType } from "./protocol.ts";

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
