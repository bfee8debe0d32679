/**
 * Takes copies of schemas away that nobody is bound to any more. Each waits a while first: what is bound just now is not known to every server
 * yet. One that was taken away too early comes back from the event that tells of it.
 */

import { isStorageError, type Storage, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import type { Clock, Supervisor, Timer } from "@kcp-ts/machinery/base";
import { uncancelled } from "../workspaces/index.ts";
import { copiesPrefix, copyKey, uidOfCopy } from "./schema-store.ts";

export interface SchemaCopyCollectorOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly isUsed: (uid: string) => boolean;
  /** A copy is no longer there. */
  readonly onGone: (uid: string) => void;
  readonly onError: (error: unknown) => void;
}

/** As upstream has it; longer than any write takes that makes use of a copy. */
export const copyUnusedMs = 30 * 60_000;
const pageEntries = 200;

export class SchemaCopyCollector {
  readonly #options: SchemaCopyCollectorOptions;
  /** When to look, in the order of that. */
  readonly #unused = new Map<string, number>();
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;

  constructor(options: SchemaCopyCollectorOptions) {
    this.#options = options;
  }

  /** Those that nobody was bound to when an earlier run ended wait anew. */
  start(): Promise<void> {
    const { signal } = this.#stopping;
    return this.#options.supervisor.runTask("schema-copies", signal, () => this.#sweep());
  }

  async #sweep(): Promise<void> {
    const { storage, isUsed } = this.#options;
    const { signal } = this.#stopping;
    for (let continueAfter: StorageKey | undefined; ; ) {
      const list = { signal, entriesMax: pageEntries, continueAfter };
      const { entries, more } = await storage.list(copiesPrefix, list);
      for (const { key } of entries) if (!isUsed(uidOfCopy(key))) this.unused(uidOfCopy(key));
      if (!more) return;
      continueAfter = entries.at(-1)?.key;
    }
  }

  stop(): void {
    this.#stopping.abort();
    this.#timer?.cancel();
  }

  /** Nobody is bound to it, or not yet: it is looked at again when the time is up. */
  unused(uid: string): void {
    this.#unused.delete(uid);
    this.#unused.set(uid, this.#options.clock.monotonic() + copyUnusedMs);
    this.#wait();
  }

  onEvent({ key, current, previous }: HubEvent): void {
    if (current !== undefined || previous === undefined) return;
    const uid = uidOfCopy(key);
    this.#options.onGone(uid);
    if (!this.#options.isUsed(uid)) return;
    const { value } = previous;
    this.#tolerating(
      this.#options.storage.commit({ key, value, expected: "absent" }, { signal: uncancelled }),
    );
  }

  #wait(): void {
    const [first] = this.#unused.values();
    if (first === undefined || this.#timer !== undefined || this.#stopping.signal.aborted) return;
    const { clock } = this.#options;
    this.#timer = clock.schedule(Math.max(0, first - clock.monotonic()), () => {
      this.#timer = undefined;
      this.#look();
      this.#wait();
    });
  }

  #look(): void {
    const { clock, isUsed } = this.#options;
    const now = clock.monotonic();
    for (const [uid, dueAt] of this.#unused) {
      if (dueAt > now) return;
      this.#unused.delete(uid);
      if (!isUsed(uid)) this.#tolerating(this.#remove(uid));
    }
  }

  async #remove(uid: string): Promise<void> {
    const { storage } = this.#options;
    const key = copyKey(uid);
    const entry = await storage.get(key, { signal: uncancelled });
    if (entry === undefined) return;
    const { modifiedAt: expected } = entry;
    await storage.commit({ key, value: "delete", expected }, { signal: uncancelled });
  }

  /** Another server does the same; and what fails now is found at the next start. */
  #tolerating(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!isStorageError(error, "conflict")) this.#options.onError(error);
    });
  }
}
