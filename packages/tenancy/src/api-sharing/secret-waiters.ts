/** Indexes objects that wait for a Secret by the key of the Secret. */
import type { StorageKey } from "@kcp-ts/apiserver/storage";

export class SecretWaiters {
  readonly #waiting = new Map<StorageKey, Set<StorageKey>>();

  add(secret: StorageKey, waiting: StorageKey): void {
    const known = this.#waiting.get(secret);
    if (known === undefined) this.#waiting.set(secret, new Set([waiting]));
    else known.add(waiting);
  }

  /** Called for every change of a Secret: most of the time no object waits for it. */
  take(secret: StorageKey): Iterable<StorageKey> {
    if (this.#waiting.size === 0) return [];
    const waiting = this.#waiting.get(secret) ?? [];
    this.#waiting.delete(secret);
    return waiting;
  }
}
