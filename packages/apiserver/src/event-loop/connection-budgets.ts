/**
 * What all connections of a listener may send, be sent, and leave unread.
 *
 * A client that sends a thousand requests at once would be heard to their end before the next client
 * is heard at all. What a turn has no room for stays with its sender, whose socket is not read from
 * until there is room: neither its requests nor their bodies take memory here.
 */
import { EventLoopBudget, type NextTurn } from "./event-loop-budget.ts";
import { eventLoopLimits, type InboundLimits, type UnreadResponseLimits } from "./limits.ts";

/** What is read in a turn, and how many requests are worked on. */
export class InboundBudget extends EventLoopBudget {
  readonly limits: InboundLimits;
  #atWork = 0;
  #arriving = 0;
  /** Called when fewer requests are worked on. */
  readonly #waitingForRoom = new Set<() => void>();

  constructor(limits: InboundLimits = eventLoopLimits.inbound, nextTurn?: NextTurn) {
    super({ perTurn: limits.unitsPerTurnMax, nextTurn });
    this.limits = limits;
  }

  get hasRoom(): boolean {
    return this.#atWork < this.limits.atWorkOfAllMax;
  }

  /** A request is worked on until `ended`. */
  begun(): void {
    this.#atWork++;
  }

  ended(): void {
    this.#atWork--;
    if (this.#waitingForRoom.size === 0 || !this.hasRoom) return;
    for (const first of this.#waitingForRoom) {
      this.#waitingForRoom.delete(first);
      this.wait(first);
      return;
    }
  }

  /** A request is to wait for its body until `arrived`; false when too many do. */
  arriving(): boolean {
    if (this.#arriving >= this.limits.arrivingMax) return false;
    this.#arriving++;
    return true;
  }

  arrived(): void {
    this.#arriving--;
  }

  /** Calls back when fewer requests are worked on. */
  waitForRoom(resume: () => void): void {
    this.#waitingForRoom.add(resume);
  }

  forget(resume: () => void): void {
    this.#waitingForRoom.delete(resume);
  }
}

/** What is written of large answers in a turn. */
export class OutboundBudget extends EventLoopBudget {
  constructor(nextTurn?: NextTurn) {
    super({ perTurn: eventLoopLimits.outbound.bytesPerTurnMax, nextTurn });
  }

  /** Whether a connection that has sent so much in this turn may send more. */
  allows(sentBytes: number): boolean {
    const { bytesFree, bytesPerConnectionMax } = eventLoopLimits.outbound;
    return sentBytes < bytesFree || (sentBytes < bytesPerConnectionMax && this.isOpen);
  }
}

/**
 * Answers that are ready and wait for their readers: memory that the readers hold. A connection on
 * which much waits has nothing more begun until some of it was read. Watches are not counted: their
 * buffers have limits of their own.
 */
export class UnreadResponseBudget {
  readonly #limits: UnreadResponseLimits;
  bytes = 0;

  constructor(limits: UnreadResponseLimits = eventLoopLimits.unreadResponses) {
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.bytes >= this.#limits.bytesMax;
  }

  /** Whether a connection on which so many bytes wait may begin something. */
  allows(waitingBytes: number): boolean {
    if (waitingBytes === 0) return true;
    return waitingBytes < this.#limits.bytesPerConnectionMax && !this.isFull;
  }
}

export interface QueuedStreamsOptions<Stream> {
  readonly unread: UnreadResponseBudget;
  readonly inbound: InboundBudget;
  readonly begin: (stream: Stream) => void;
}

/** The requests of one connection that begin when more of the answers before them was read. */
export class QueuedStreams<Stream extends { isQueued: boolean }> {
  readonly #options: QueuedStreamsOptions<Stream>;
  readonly #streams = new Set<Stream>();
  /** Of answers that wait to be sent. */
  #unreadBytes = 0;
  #isBeginning = false;

  constructor(options: QueuedStreamsOptions<Stream>) {
    this.#options = options;
  }

  /** Begins it now or later. Frames are still read: they may be the windows that are waited for. */
  add(stream: Stream): void {
    const { unread, begin } = this.#options;
    if (this.#streams.size === 0 && unread.allows(this.#unreadBytes)) {
      begin(stream);
      return;
    }
    stream.isQueued = true;
    this.#streams.add(stream);
  }

  delete(stream: Stream): void {
    this.#streams.delete(stream);
  }

  clear(): void {
    this.#streams.clear();
  }

  /** So many bytes of an answer wait; negative when they no longer do. */
  noteUnread(bytes: number): void {
    const { unread } = this.#options;
    this.#unreadBytes += bytes;
    unread.bytes += bytes;
    if (this.#streams.size > 0 && unread.allows(this.#unreadBytes)) this.#askForTurn();
  }

  #askForTurn(): void {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    this.#options.inbound.wait(this.#beginSome);
  }

  readonly #beginSome = (): void => {
    this.#isBeginning = false;
    const { inbound, unread, begin } = this.#options;
    let left = inbound.limits.unitsFree;
    for (const stream of this.#streams) {
      if (!unread.allows(this.#unreadBytes)) return;
      if (left-- === 0) {
        this.#askForTurn();
        return;
      }
      this.#streams.delete(stream);
      stream.isQueued = false;
      inbound.spend(1);
      begin(stream);
    }
  };
}
