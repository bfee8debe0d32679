/**
 * Expectations: writes that the cache has not observed yet. Until then the cache has fewer, or
 * more, objects than exist, and a controller that relied on it would create or delete too many. As
 * in Kubernetes, expectations expire after five minutes, in case an event was lost.
 */
import type { Clock } from "@kcp-ts/machinery/base";

const giveUpMs = 5 * 60_000;

interface Pending {
  /** Names of created objects, uids of deleted objects. */
  readonly ids: Set<string>;
  sinceMs: number;
}

/** Expectations by the uid of the owner. */
export class Expectations {
  readonly #clock: Clock;
  readonly #created = new Map<string, Pending>();
  readonly #deleted = new Map<string, Pending>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called before the request is sent: the event can be faster than the response. */
  creating(owner: string, name: string): void {
    this.#add(this.#created, owner, name);
  }

  deleting(owner: string, uid: string): void {
    this.#add(this.#deleted, owner, uid);
  }

  /** The creation was observed, or failed, so that no event follows. */
  created(owner: string, name: string): void {
    this.#created.get(owner)?.ids.delete(name);
  }

  deleted(owner: string, uid: string): void {
    this.#deleted.get(owner)?.ids.delete(uid);
  }

  isMet(owner: string): boolean {
    return this.#isEmpty(this.#created, owner) && this.#isEmpty(this.#deleted, owner);
  }

  forget(owner: string): void {
    this.#created.delete(owner);
    this.#deleted.delete(owner);
  }

  #add(pending: Map<string, Pending>, owner: string, id: string): void {
    const nowMs = this.#clock.monotonic();
    const entry = pending.get(owner) ?? { ids: new Set(), sinceMs: nowMs };
    if (entry.ids.size === 0) entry.sinceMs = nowMs;
    entry.ids.add(id);
    pending.set(owner, entry);
  }

  #isEmpty(pending: Map<string, Pending>, owner: string): boolean {
    const entry = pending.get(owner);
    if (entry === undefined || entry.ids.size === 0) return true;
    return this.#clock.monotonic() - entry.sinceMs > giveUpMs;
  }
}
