/**
 * The backoff before the syncer reverts a field that another client keeps changing: two writers
 * must not overwrite each other without end.
 */
import type { Clock } from "@kcp-ts/machinery/base";

const firstMs = 1000;
const mostMs = 300_000;
/** This many reverts in a row are no accident. */
const contestedAfter = 3;

interface Corrections {
  count: number;
  lastAtMs: number;
}

export class DriftBackoff {
  readonly #clock: Clock;
  readonly #corrections = new Map<string, Corrections>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 0: revert now, and count it. */
  waitMs(key: string): number {
    const nowMs = this.#clock.monotonic();
    const known = this.#corrections.get(key);
    if (known === undefined || nowMs - known.lastAtMs > 2 * mostMs) {
      this.#corrections.set(key, { count: 1, lastAtMs: nowMs });
      return 0;
    }
    const stepMs = Math.min(mostMs, firstMs * 2 ** Math.min(known.count - 1, 20));
    const leftMs = known.lastAtMs + stepMs - nowMs;
    if (leftMs > 0) return leftMs;
    known.count++;
    known.lastAtMs = nowMs;
    return 0;
  }

  isContested(key: string): boolean {
    return (this.#corrections.get(key)?.count ?? 0) >= contestedAfter;
  }

  forget(key: string): void {
    this.#corrections.delete(key);
  }
}
