/** What a connection sends: small frames at once, answers as far as windows and the socket allow, each stream in its turn. */
import type { OutboundBudget } from "../event-loop/index.ts";
import { FrameWriter } from "./frame-writer.ts";
import { HeaderEncoder } from "./header-encoder.ts";
import {
  ConnectionError,
  type ErrorCode,
  errorCode,
  framePayloadBytesMax,
  frameType,
  windowDefault,
  windowMax,
} from "./protocol.ts";
import type { ServerStream } from "./server-stream.ts";

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
