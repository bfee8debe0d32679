/** What a connection takes in: frames one by one, as far as the turn and the work that is already under way allow. */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { eventLoopLimits, type InboundBudget } from "../event-loop/index.ts";
import { type Frame, FrameReader } from "./frame-reader.ts";
import { ConnectionError, errorCode } from "./protocol.ts";
import type { ServerStream } from "./server-stream.ts";

export interface InboundOptions {
  readonly budget: InboundBudget;
  /** Takes up reading where it was left, by `next`. */
  readonly readOn: () => void;
  /** Nothing more is to be delivered, and again something is. What comes all the same is kept. */
  readonly hold: (isHeld: boolean) => void;
}

export class Inbound extends FrameReader {
  readonly #options: InboundOptions;
  #turn = -1;
  /** What was taken in this turn. */
  #units = 0;
  #atWork = 0;
  #isHeld = false;
  /** A turn was asked for. */
  #isWaiting = false;

  constructor(options: InboundOptions) {
    super();
    this.#options = options;
  }

  /** The next frame; undefined when there is none, or none may be taken now. */
  override next(): Frame | undefined {
    const { budget } = this.#options;
    const { atWorkMax, unitsFree } = budget.limits;
    if (this.isEmpty) this.#hold(false);
    else if (this.#atWork >= atWorkMax) this.#hold(true);
    else if (this.#atWork >= unitsFree && !budget.hasRoom) {
      this.#hold(true);
      budget.waitForRoom(this.#goOn);
    } else if (this.#isTurnOver()) {
      this.#hold(true);
      this.#askForTurn();
    } else {
      const frame = super.next();
      if (frame === undefined) this.#hold(false);
      return frame;
    }
    return undefined;
  }

  /** A request was read, or so many bytes of one. */
  spend(units: number): void {
    const { budget } = this.#options;
    if (this.#turn !== budget.turn) {
      this.#turn = budget.turn;
      this.#units = 0;
    }
    this.#units += units;
    budget.spend(units);
  }

  spendBytes(bytes: number): void {
    this.spend(bytes / this.#options.budget.limits.bytesPerUnit);
  }

  /** The request is here with all its body; until it is answered it counts as work. */
  received(stream: ServerStream): void {
    if (stream.isAtWork || stream.isClosed || stream.isBegun || stream.isQueued) return;
    stream.isAtWork = true;
    this.#atWork++;
    this.#options.budget.begun();
  }

  answered(stream: ServerStream): void {
    if (!stream.isAtWork) return;
    stream.isAtWork = false;
    const { budget } = this.#options;
    const { atWorkMax, unitsFree } = budget.limits;
    const isRoomMade = this.#atWork >= atWorkMax;
    this.#atWork--;
    budget.ended();
    if (this.#isHeld && (isRoomMade || this.#atWork < unitsFree)) this.#askForTurn();
  }

  /** Nothing more will be read. */
  closed(): void {
    this.#options.budget.forget(this.#goOn);
  }

  /** What is free is free for those who come anew, not for those who are held back. */
  #isTurnOver(): boolean {
    const { budget } = this.#options;
    const { unitsPerConnectionMax, unitsFree } = budget.limits;
    const units = this.#turn === budget.turn ? this.#units : 0;
    return (
      units >= unitsPerConnectionMax || (!budget.isOpen && (this.#isHeld || units >= unitsFree))
    );
  }

  #hold(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#options.hold(isHeld);
  }

  #askForTurn(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#options.budget.wait(this.#goOn);
  }

  readonly #goOn = (): void => {
    this.#isWaiting = false;
    this.#options.readOn();
  };
}

// Requests of a connection whose bodies are waited for, in the order of their numbers: each as long as it may, by one timer for all.

export class Arrivals {
  readonly #clock: Clock;
  readonly #inbound: InboundBudget;
  readonly #streams = new Set<ServerStream>();
  #timer: Timer | undefined;
  /** The newest stream that was waited for. */
  #newestId = 0;

  constructor(clock: Clock, inbound: InboundBudget) {
    this.#clock = clock;
    this.#inbound = inbound;
  }

  /** False when too many are waited for. */
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

  /** Those that were there when the timer was set have waited long enough when it goes off. */
  #wait(): void {
    const newestId = this.#newestId;
    this.#timer = this.#clock.schedule(eventLoopLimits.inbound.arrivalMaxMs, () => {
      this.#timer = undefined;
      for (const stream of this.#streams) {
        if (stream.id > newestId) break;
        stream.waitNoLonger();
      }
      if (this.#streams.size > 0) this.#wait();
    });
  }
}

// How much a peer may ask for that costs us and brings it nothing: resets of what it just asked for, pings, settings, empty frames.
//
// It comes back with time and with every answer that is taken to its end, so that a client that cancels a thousand watches is served, and
// one that opens streams only to reset them (CVE-2023-44487) is not.

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

  /** Throws when there is none left. */
  spend(): void {
    if (--this.#left >= 0) return;
    const now = this.#clock.monotonic();
    this.#left = Math.min(abuseBudgetMax, Math.floor((now - this.#at) * regainedPerMs)) - 1;
    this.#at = now;
    if (this.#left < 0)
      throw new ConnectionError(errorCode.enhanceYourCalm, "too much noise on the connection");
  }

  /** An answer was taken to its end. */
  regain(): void {
    if (this.#left < abuseBudgetMax) this.#left++;
  }
}

// How the latest streams of a connection ended: a frame that comes for one of them later is an error or none, depending on that
// (RFC 9113, 5.1). A fixed number of them is remembered, in one small table.

/**
 * `ended`: the client has said its last word. `reset`: the client gave the stream up. `cut`: the server did, and what the client had
 * sent before it knew is still coming. `skipped`: it was never opened, and no longer can be. `forgotten`: it is too long ago.
 */
export type StreamEnd = "ended" | "reset" | "cut" | "skipped" | "forgotten";

/** Streams that are remembered, counted back from the newest. A power of two. */
export const rememberedStreamsMax = 256;

const codes = ["ended", "reset", "cut"] as const;

export class ClosedStreams {
  /** Half of the number (they are odd), then two bits for how it ended, plus one: 0 is nobody. Made when the first stream ends. */
  #table: Uint32Array | undefined;

  add(streamId: number, end: (typeof codes)[number]): void {
    this.#table ??= new Uint32Array(rememberedStreamsMax);
    const slot = slotOf(streamId);
    const entry = (((streamId >>> 1) << 2) | (codes.indexOf(end) + 1)) >>> 0;
    // A stream that was open for long does not displace a newer one.
    if (entry > (this.#table[slot] as number)) this.#table[slot] = entry;
  }

  /** `lastStreamId` is the highest that was opened; the stream is none that is open. */
  find(streamId: number, lastStreamId: number): StreamEnd {
    if (lastStreamId - streamId >= rememberedStreamsMax * 2) return "forgotten";
    const entry = this.#table?.[slotOf(streamId)] ?? 0;
    return entry >>> 2 === streamId >>> 1 && entry !== 0
      ? (codes[(entry & 3) - 1] as StreamEnd)
      : "skipped";
  }
}

function slotOf(streamId: number): number {
  return (streamId >>> 1) & (rememberedStreamsMax - 1);
}
