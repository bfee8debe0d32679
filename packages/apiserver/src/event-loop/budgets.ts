/**
 * EventLoopBudget: the amount of work that one turn of the event loop may start.
 *
 * One thread does all the work, so a new request waits for all the work of the turn in which it
 * arrives. Kubernetes limits the number of requests that run concurrently; one thread needs a limit
 * on the work that starts before the next arrivals are read. The work is estimated, because it
 * continues in later turns and could not be measured in time.
 */
import { eventLoopLimits, type InboundLimits, type UnreadResponseLimits } from "./limits.ts";

export interface EventLoopBudgetOptions {
  readonly perTurn: number;
  /** The budget of a turn for some turns after a second tenant has been seen at work. */
  readonly contendedPerTurn?: number | undefined;
  /** Schedules a callback for the next turn; `setImmediate`, except in tests. */
  readonly nextTurn?: NextTurn | undefined;
  /** Called at the start of a scheduled turn; returns whether work still waits. */
  readonly onTurn?: (() => boolean) | undefined;
}

export type NextTurn = (callback: () => void) => void;

export class EventLoopBudget {
  readonly #perTurn: number;
  readonly #contendedPerTurn: number;
  readonly #nextTurn: NextTurn;
  readonly #onTurn: (() => boolean) | undefined;
  /** The number of the turn. */
  turn = 0;
  /** The rest of the budget; negative when the last work that started cost more than the rest. */
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

  /**
   * Whether work may start now, even if it costs more than the rest or than the budget of a whole
   * turn.
   */
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

  /** Whether more than one tenant has been at work lately. */
  get isContended(): boolean {
    return this.turn < this.#contendedUntil;
  }

  /** Schedules a turn for work that waits. */
  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#begin);
  }

  /** Calls back in the next turn that has budget left. */
  wait(resume: () => void): void {
    this.#waiting.push(resume);
    this.wake();
  }

  readonly #begin = (): void => {
    this.#isScheduled = false;
    this.turn++;
    this.left = this.turn < this.#contendedUntil ? this.#contendedPerTurn : this.#perTurn;
    if (this.#waiting.length > 0) this.#resume();
    if (this.#onTurn?.() === true) this.wake();
  };

  #resume(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let at = 0;
    while (at < waiting.length && this.isOpen) (waiting[at++] as () => void)();
    if (at === waiting.length) return;
    // Callbacks for which this turn had no budget run first in the next turn.
    this.#waiting = [...waiting.slice(at), ...this.#waiting];
    this.wake();
  }
}

// The budgets of all connections of a listener: bytes and requests received, bytes sent, and bytes
// that clients have not read.
//
// Without an inbound budget, all of a thousand pipelined requests of one client would be read
// before a request of the next client. Requests that exceed the budget of a turn stay with the
// sender: its socket is not read until there is budget, so neither the requests nor their bodies
// take memory here.

/** Limits the input that is read in a turn, and the number of requests in flight. */
export class InboundBudget extends EventLoopBudget {
  readonly limits: InboundLimits;
  #atWork = 0;
  #arriving = 0;
  /** Called when a request in flight has ended. */
  readonly #waitingForRoom = new Set<() => void>();

  constructor(limits: InboundLimits = eventLoopLimits.inbound, nextTurn?: NextTurn) {
    super({ perTurn: limits.unitsPerTurnMax, nextTurn });
    this.limits = limits;
  }

  get hasRoom(): boolean {
    return this.#atWork < this.limits.atWorkOfAllMax;
  }

  /** Counts a request as in flight until `ended`. */
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

  /**
   * Counts a request that waits for its body until `arrived`; false when too many requests wait.
   */
  arriving(): boolean {
    if (this.#arriving >= this.limits.arrivingMax) return false;
    this.#arriving++;
    return true;
  }

  arrived(): void {
    this.#arriving--;
  }

  /** Calls back when a request in flight has ended. */
  waitForRoom(resume: () => void): void {
    this.#waitingForRoom.add(resume);
  }

  forget(resume: () => void): void {
    this.#waitingForRoom.delete(resume);
  }
}

/** Limits the bytes of large responses that are written in a turn. */
export class OutboundBudget extends EventLoopBudget {
  constructor(nextTurn?: NextTurn) {
    super({ perTurn: eventLoopLimits.outbound.bytesPerTurnMax, nextTurn });
  }

  /** Whether a connection that has sent `sentBytes` in this turn may send more. */
  allows(sentBytes: number): boolean {
    const { bytesFree, bytesPerConnectionMax } = eventLoopLimits.outbound;
    return sentBytes < bytesFree || (sentBytes < bytesPerConnectionMax && this.isOpen);
  }
}

/**
 * Limits the memory of responses that are ready, and that clients have not read. A connection with
 * too many unread bytes starts no further requests until its client has read some of them. Watches
 * are not counted: their buffers have limits of their own.
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

  /** Whether a connection with `waitingBytes` of unread responses may start a request. */
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

/**
 * The requests of one connection that start when the client has read more of the preceding
 * responses.
 */
export class QueuedStreams<Stream extends { isQueued: boolean }> {
  readonly #options: QueuedStreamsOptions<Stream>;
  readonly #streams = new Set<Stream>();
  /** The bytes of responses that wait to be sent. */
  #unreadBytes = 0;
  #isBeginning = false;

  constructor(options: QueuedStreamsOptions<Stream>) {
    this.#options = options;
  }

  /**
   * Starts the stream now or later. Frames are still read, because they may contain the window
   * updates that responses wait for.
   */
  add(stream: Stream): void {
    const { unread, begin } = this.#options;
    const mayBegin = this.#unreadBytes === 0 || unread.allows(this.#unreadBytes);
    if (mayBegin && this.#streams.size === 0) {
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

  /** Adds to the unread bytes of the connection; negative when bytes have been read. */
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

let waiting: (() => void)[] = [];

/**
 * resumeTogether resumes all requests whose bodies arrive in one turn together in the next turn:
 * each step then runs for all of them in a row, with its code and data in the processor's caches.
 * That saves a sixth of the cost of a create with 64 requests in flight.
 */
export function resumeTogether(resume: () => void): void {
  if (waiting.push(resume) > 1) return;
  setImmediate(() => {
    const resumed = waiting;
    waiting = [];
    for (const next of resumed) next();
  });
}
