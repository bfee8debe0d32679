/**
 * How much of something one turn of the event loop may take.
 *
 * One thread does all the work, so a request that arrives waits for whatever the turn it arrives in
 * still has to do. Kubernetes bounds how many requests run at once; here the same end needs a bound
 * on how much is begun before the next arrivals are looked at. Work is counted by estimate, because
 * it goes on in pieces after it began and could not be measured in time.
 */
import { eventLoopLimits, type InboundLimits, type UnreadResponseLimits } from "./limits.ts";

export interface EventLoopBudgetOptions {
  readonly perTurn: number;
  /** The same for some turns after a second tenant was noticed at work. */
  readonly contendedPerTurn?: number | undefined;
  /** Calls back in the next turn; `setImmediate` but for tests. */
  readonly nextTurn?: NextTurn | undefined;
  /** Called at the beginning of a turn that was asked for; says whether something still waits. */
  readonly onTurn?: (() => boolean) | undefined;
}

export type NextTurn = (callback: () => void) => void;

export class EventLoopBudget {
  readonly #perTurn: number;
  readonly #contendedPerTurn: number;
  readonly #nextTurn: NextTurn;
  readonly #onTurn: (() => boolean) | undefined;
  /** Changes from turn to turn. */
  turn = 0;
  /** Negative when the last thing that was begun took more than was left. */
  left: number;
  #contendedUntil = 0;
  #isScheduled = false;
  #waiting: (() => void)[] = [];

  constructor(options: EventLoopBudgetOptions) {
    const { perTurn, contendedPerTurn = perTurn, nextTurn = setImmediate, onTurn } = options;
    this.#perTurn = perTurn;
    this.#contendedPerTurn = contendedPerTurn;
    this.left = perTurn;
    this.#nextTurn = nextTurn;
    this.#onTurn = onTurn;
  }

  /** Whether something may begin now; also what is larger than all that is left, or than the whole. */
  get isOpen(): boolean {
    return this.left > 0;
  }

  spend(amount: number): void {
    this.left -= amount;
    if (!this.#isScheduled) this.wake();
  }

  noteContention(): void {
    this.#contendedUntil = this.turn + eventLoopLimits.compute.contendedTurns;
  }

  /** More than one tenant was at work lately. */
  get isContended(): boolean {
    return this.turn < this.#contendedUntil;
  }

  /** Something waits: a turn will come for it. */
  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#begin);
  }

  /** Calls back in a turn that has room, soon. */
  wait(resume: () => void): void {
    this.#waiting.push(resume);
    this.wake();
  }

  readonly #begin = (): void => {
    this.#isScheduled = false;
    this.turn++;
    this.left = this.isContended ? this.#contendedPerTurn : this.#perTurn;
    if (this.#waiting.length > 0) this.#resume();
    if (this.#onTurn?.() === true) this.wake();
  };

  #resume(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let at = 0;
    while (at < waiting.length && this.isOpen) (waiting[at++] as () => void)();
    if (at === waiting.length) return;
    // Those that had no turn come first in the next one.
    this.#waiting = [...waiting.slice(at), ...this.#waiting];
    this.wake();
  }
}

// What all connections of a listener may send, be sent, and leave unread.
//
// A client that sends a thousand requests at once would be heard to their end before the next client
// is heard at all. What a turn has no room for stays with its sender, whose socket is not read from
// until there is room: neither its requests nor their bodies take memory here.

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
