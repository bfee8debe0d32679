/**
 * Writes whose effect has not been seen yet: until then the cache shows fewer, or more, objects than there are, and counting on it would
 * create or delete too many. As upstream, they are given up after five minutes, in case an event was lost.
 */
import type { Clock } from "@kcp-ts/machinery/base";

const giveUpMs = 5 * 60_000;

interface Pending {
  readonly uids: Set<string>;
  sinceMs: number;
}

export class Expectations {
  readonly #clock: Clock;
  readonly #created = new Map<string, Pending>();
  readonly #deleted = new Map<string, Pending>();
  /** Events can be faster than the answer to the write they tell of. */
  readonly #seenEarly = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  created(owner: string, uid: string): void {
    if (!this.#seenEarly.delete(uid)) this.#add(this.#created, owner, uid);
  }

  deleting(owner: string, uid: string): void {
    this.#add(this.#deleted, owner, uid);
  }

  /** The write failed, so there will be no event. */
  notDeleted(owner: string, uid: string): void {
    this.#deleted.get(owner)?.uids.delete(uid);
  }

  sawCreated(owner: string, uid: string): void {
    if (this.#created.get(owner)?.uids.delete(uid) !== true) this.#seenEarly.add(uid);
  }

  sawDeleted(owner: string, uid: string): void {
    this.#seenEarly.delete(uid);
    this.#created.get(owner)?.uids.delete(uid);
    this.#deleted.get(owner)?.uids.delete(uid);
  }

  isMet(owner: string): boolean {
    return this.#isEmpty(this.#created, owner) && this.#isEmpty(this.#deleted, owner);
  }

  forget(owner: string): void {
    this.#created.delete(owner);
    this.#deleted.delete(owner);
  }

  #add(pending: Map<string, Pending>, owner: string, uid: string): void {
    const nowMs = this.#clock.monotonic();
    const entry = pending.get(owner) ?? { uids: new Set(), sinceMs: nowMs };
    if (entry.uids.size === 0) entry.sinceMs = nowMs;
    entry.uids.add(uid);
    pending.set(owner, entry);
  }

  #isEmpty(pending: Map<string, Pending>, owner: string): boolean {
    const entry = pending.get(owner);
    if (entry === undefined || entry.uids.size === 0) return true;
    return this.#clock.monotonic() - entry.sinceMs > giveUpMs;
  }
}
