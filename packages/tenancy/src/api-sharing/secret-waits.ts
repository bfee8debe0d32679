/** Which objects wait for which secret, by its key. */
import type { StorageKey } from "@kcp-ts/apiserver/storage";

export class SecretWaiters {
  readonly #waiting = new Map<StorageKey, Set<StorageKey>>();

  add(secret: StorageKey, waiting: StorageKey): void {
    const known = this.#waiting.get(secret);
    if (known === undefined) this.#waiting.set(secret, new Set([waiting]));
    else known.add(waiting);
  }

  /** Told of every change of a secret: most of the time nobody waits for one. */
  take(secret: StorageKey): Iterable<StorageKey> {
    if (this.#waiting.size === 0) return [];
    const waiting = this.#waiting.get(secret) ?? [];
    this.#waiting.delete(secret);
    return waiting;
  }
}
