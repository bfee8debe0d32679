/**
 * Ends answers that nobody reads: they would hold their memory for as long as their client likes. One timer looks at all connections of a listener, and
 * nothing is done for a single answer.
 *
 * Progress is what counts, not time: who reads slowly is served to the end. Watches and what a connection was handed over to have their own rules.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { UnreadResponseBudget } from "../event-loop/index.ts";

/** A connection, as far as its reader is concerned. */
export interface StallCheckedConnection {
  /** What was handed to the system, and what was not yet. */
  readonly sentBytes: number;
  readonly unsentBytes: number;
  /** Something is open that may wait for as long as it likes, or that has not been waited for long enough. */
  readonly isHeldOpen: boolean;
  /** Ends the answers that have not moved for so many looks, where a connection carries several. */
  endStalled?(looksMax: number): void;
  destroy(): void;
}

/** How often is looked during the time that an answer may stand still. */
export const checksPerTimeout = 12;
/** Those who have not moved for this many looks are ended while too much waits in all. */
const looksWhenFull = 1;

export class StalledConnectionMonitor {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #unread: UnreadResponseBudget;
  readonly #readers = new Map<StallCheckedConnection, { sentBytes: number; looks: number }>();
  #timer: Timer | undefined;

  constructor(clock: Clock, timeoutMs: number, unread: UnreadResponseBudget) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#unread = unread;
  }

  add(reader: StallCheckedConnection): void {
    this.#readers.set(reader, { sentBytes: 0, looks: 0 });
    this.#timer ??= this.#schedule();
  }

  delete(reader: StallCheckedConnection): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): Timer {
    return this.#clock.schedule(this.#timeoutMs / checksPerTimeout, () => {
      this.#timer = this.#schedule();
      const { isFull } = this.#unread;
      for (const [reader, seen] of this.#readers) checkProgress(reader, seen, isFull);
    });
  }
}

/** What is held open may wait for as long as it likes, but not while too much waits in all. */
function checkProgress(
  reader: StallCheckedConnection,
  seen: { sentBytes: number; looks: number },
  isFull: boolean,
): void {
  const looksMax = isFull ? looksWhenFull : checksPerTimeout;
  reader.endStalled?.(looksMax);
  const { sentBytes, unsentBytes } = reader;
  const isMeant = isFull || !reader.isHeldOpen;
  const isStanding = unsentBytes > 0 && sentBytes === seen.sentBytes && isMeant;
  seen.looks = isStanding ? seen.looks + 1 : 0;
  seen.sentBytes = sentBytes;
  if (seen.looks >= looksMax) reader.destroy();
}
