/**
 * Ends responses that their clients do not read: they would hold their memory for any time. One
 * timer checks all connections of a listener, without work per response.
 *
 * Progress counts, not duration: a slow reader is served to the end. Watches and upgraded
 * connections have their own rules.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { UnreadResponseBudget } from "../event-loop/index.ts";

/** A connection, as the monitor sees its reader. */
export interface StallCheckedConnection {
  /** Bytes that were handed to the kernel, and bytes that were not yet. */
  readonly sentBytes: number;
  readonly unsentBytes: number;
  /**
   * Whether a response is open that may be unread for any time, or that has not waited long enough.
   */
  readonly isExemptFromStallCheck: boolean;
  /**
   * Ends the responses without progress for this number of checks, where a connection multiplexes
   * several.
   */
  endStalled?(looksMax: number): void;
  destroy(): void;
}

/** The number of checks during the timeout of a stalled response. */
export const checksPerTimeout = 12;
/**
 * The number of checks without progress after which responses end while the sum of unread bytes is
 * too large.
 */
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

/** A watch may be unread for any time, except while the sum of unread bytes is too large. */
function checkProgress(
  reader: StallCheckedConnection,
  seen: { sentBytes: number; looks: number },
  isFull: boolean,
): void {
  const looksMax = isFull ? looksWhenFull : checksPerTimeout;
  reader.endStalled?.(looksMax);
  const { sentBytes, unsentBytes } = reader;
  const isMeant = isFull || !reader.isExemptFromStallCheck;
  const isStanding = unsentBytes > 0 && sentBytes === seen.sentBytes && isMeant;
  seen.looks = isStanding ? seen.looks + 1 : 0;
  seen.sentBytes = sentBytes;
  if (seen.looks >= looksMax) reader.destroy();
}
