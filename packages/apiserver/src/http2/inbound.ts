/**
 * The inbound side of a connection: processes frames one by one, within the budget of the turn and
 * of the requests in flight.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { eventLoopLimits, type InboundBudget } from "../event-loop/index.ts";
import { type Frame, FrameReader } from "./frame-reader.ts";
import { ConnectionError, errorCode } from "./protocol.ts";
import type { ServerStream } from "./server-stream.ts";

export interface InboundOptions {
  readonly budget: InboundBudget;
  /** Resumes reading with `next`. */
  readonly resumeReading: () => void;
  /** Pauses and resumes the delivery of bytes. Bytes that still arrive are kept. */
  readonly setReadPaused: (isHeld: boolean) => void;
}

export class Inbound extends FrameReader {
  readonly #options: InboundOptions;
  #iteration = -1;
  /** The work in this turn. */
  #units = 0;
  #executing = 0;
  #isPaused = false;
  /** Whether a turn was requested. */
  #isWaiting = false;

  constructor(options: InboundOptions) {
    super();
    this.#options = options;
  }

  /** The next frame; undefined when there is none, or none may be processed now. */
  override next(): Frame | undefined {
    const { budget } = this.#options;
    const { atWorkMax, unitsFree } = budget.limits;
    if (this.isEmpty) {
      if (this.#isPaused) this.#setPaused(false);
    } else if (this.#executing >= atWorkMax) this.#setPaused(true);
    else if (this.#executing >= unitsFree && !budget.hasRoom) {
      this.#setPaused(true);
      budget.waitForRoom(this.#resume);
    } else if (this.#isBudgetSpent()) {
      this.#setPaused(true);
      this.#waitForIteration();
    } else {
      const frame = super.next();
      if (frame === undefined && this.#isPaused) this.#setPaused(false);
      return frame;
    }
    return undefined;
  }

  /** Charges a request, or bytes of a body. */
  spend(units: number): void {
    const { budget } = this.#options;
    if (this.#iteration !== budget.turn) {
      this.#iteration = budget.turn;
      this.#units = 0;
    }
    this.#units += units;
    budget.spend(units);
  }

  spendBytes(bytes: number): void {
    this.spend(bytes / this.#options.budget.limits.bytesPerUnit);
  }

  /** The request is complete with its body; until it is answered it counts as in flight. */
  received(stream: ServerStream): void {
    if (stream.isExecuting || stream.isClosed || stream.hasResponseHead || stream.isQueued) return;
    stream.isExecuting = true;
    this.#executing++;
    this.#options.budget.begun();
  }

  /** For a stream that is executing. */
  responded(stream: ServerStream): void {
    stream.isExecuting = false;
    const { budget } = this.#options;
    const { atWorkMax, unitsFree } = budget.limits;
    const isRoomMade = this.#executing >= atWorkMax;
    this.#executing--;
    budget.ended();
    if (this.#isPaused && (isRoomMade || this.#executing < unitsFree)) this.#waitForIteration();
  }

  /** No more bytes will be read. */
  closed(): void {
    this.#options.budget.forget(this.#resume);
  }

  /** Free capacity is for new requests, not for connections that are held back. */
  #isBudgetSpent(): boolean {
    const { budget } = this.#options;
    const { unitsPerConnectionMax, unitsFree } = budget.limits;
    const units = this.#iteration === budget.turn ? this.#units : 0;
    return (
      units >= unitsPerConnectionMax || (budget.left <= 0 && (this.#isPaused || units >= unitsFree))
    );
  }

  #setPaused(isHeld: boolean): void {
    if (this.#isPaused === isHeld) return;
    this.#isPaused = isHeld;
    this.#options.setReadPaused(isHeld);
  }

  #waitForIteration(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#options.budget.wait(this.#resume);
  }

  readonly #resume = (): void => {
    this.#isWaiting = false;
    this.#options.resumeReading();
  };
}

// Requests of a connection that wait for their bodies, in the order of their stream ids: each until
// its timeout, with one timer for all.

export class Arrivals {
  readonly #clock: Clock;
  readonly #inbound: InboundBudget;
  readonly #streams = new Set<ServerStream>();
  #timer: Timer | undefined;
  /** The newest stream that waited. */
  #newestId = 0;

  constructor(clock: Clock, inbound: InboundBudget) {
    this.#clock = clock;
    this.#inbound = inbound;
  }

  /** False when too many requests wait. */
  add(stream: ServerStream): boolean {
    if (!this.#inbound.arriving()) return false;
    this.#streams.add(stream);
    this.#newestId = Math.max(this.#newestId, stream.id);
    if (this.#timer === undefined) this.#wait();
    return true;
  }

  delete(stream: ServerStream): void {
    if (this.#streams.delete(stream)) this.#inbound.arrived();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  /** Streams that waited when the timer was set have reached their timeout when it fires. */
  #wait(): void {
    const newestId = this.#newestId;
    this.#timer = this.#clock.schedule(eventLoopLimits.inbound.arrivalMaxMs, () => {
      this.#timer = undefined;
      for (const stream of this.#streams) {
        if (stream.id > newestId) break;
        stream.stopWaitingForBody();
      }
      if (this.#streams.size > 0) this.#wait();
    });
  }
}

// The abuse budget: frames that cost the server work and bring the peer nothing, such as resets of
// new requests, pings, settings, empty frames.
//
// The budget refills with time and with every response that is read to its end, so that a client
// that cancels a thousand watches is served, and a client that opens streams only to reset them
// (CVE-2023-44487) is not.

export const abuseBudgetMax = 1000;
const regainedPerMs = 0.1;

export class AbuseBudget {
  readonly #clock: Clock;
  #left = abuseBudgetMax;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** Throws when the budget is spent. */
  spend(): void {
    if (--this.#left >= 0) return;
    const now = this.#clock.monotonic();
    this.#left = Math.min(abuseBudgetMax, Math.floor((now - this.#at) * regainedPerMs)) - 1;
    this.#at = now;
    if (this.#left < 0)
      throw new ConnectionError(errorCode.enhanceYourCalm, "too much noise on the connection");
  }

  /** Refills after a response that was read to its end. */
  regain(): void {
    if (this.#left < abuseBudgetMax) this.#left++;
  }
}

// Records how the latest streams of a connection ended, which decides whether a later frame for
// such a stream is an error (RFC 9113, 5.1). A fixed number of streams is recorded, in one small
// table.

/**
 * `ended`: the client sent END_STREAM. `reset`: the client reset the stream. `cut`: the server did,
 * and frames that the client had sent before are still arriving. `skipped`: it was never opened,
 * and no longer can be. `forgotten`: it is no longer recorded.
 */
export type StreamEnd = "ended" | "reset" | "cut" | "skipped" | "forgotten";

/** The number of recorded streams, counted back from the newest. A power of two. */
export const rememberedStreamsMax = 256;

const codes = ["ended", "reset", "cut"] as const;

export class ClosedStreams {
  /**
   * Half of the stream id (ids are odd), then two bits for how it ended, plus one: 0 is empty.
   * Allocated when the first stream ends.
   */
  #table: Uint32Array | undefined;

  add(streamId: number, end: (typeof codes)[number]): void {
    this.#table ??= new Uint32Array(rememberedStreamsMax);
    const slot = (streamId >>> 1) % rememberedStreamsMax;
    const entry = (((streamId >>> 1) << 2) | (codes.indexOf(end) + 1)) >>> 0;
    // A stream that was open for long does not displace a newer one.
    if (entry > (this.#table[slot] as number)) this.#table[slot] = entry;
  }

  /** `lastStreamId` is the highest that was opened; the stream must not be open. */
  find(streamId: number, lastStreamId: number): StreamEnd {
    if (lastStreamId - streamId >= rememberedStreamsMax * 2) return "forgotten";
    const entry = this.#table?.[(streamId >>> 1) % rememberedStreamsMax] ?? 0;
    return entry >>> 2 === streamId >>> 1 && entry !== 0
      ? (codes[(entry & 3) - 1] as StreamEnd)
      : "skipped";
  }
}
