/**
 * Deletes copies of schemas without bindings. Each copy stays for a while first, because other
 * servers may not have seen a new binding yet. A copy that was deleted too early is restored on its
 * delete event.
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
  /** Called when a copy was deleted. */
  readonly onDeleted: (uid: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Upstream's duration; longer than any write that uses a copy takes. */
export const copyUnusedMs = 30 * 60_000;
const pageEntries = 200;

export class SchemaCopyCollector {
  readonly #options: SchemaCopyCollectorOptions;
  /** The due times of unused copies, in ascending order. */
  readonly #unused = new Map<string, number>();
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;

  constructor(options: SchemaCopyCollectorOptions) {
    this.#options = options;
  }

  /** Copies that were unused when an earlier process ended wait the full time again. */
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
      for (const { key } of entries) if (!isUsed(uidOfCopy(key))) this.markUnused(uidOfCopy(key));
      if (!more) return;
      continueAfter = entries.at(-1)?.key;
    }
  }

  stop(): void {
    this.#stopping.abort();
    this.#timer?.cancel();
  }

  /** Schedules a check of a copy without bindings, or without bindings yet. */
  markUnused(uid: string): void {
    this.#unused.delete(uid);
    this.#unused.set(uid, this.#options.clock.monotonic() + copyUnusedMs);
    this.#wait();
  }

  onEvent({ key, current, previous }: HubEvent): void {
    if (current !== undefined || previous === undefined) return;
    const uid = uidOfCopy(key);
    this.#options.onDeleted(uid);
    if (!this.#options.isUsed(uid)) return;
    const { value } = previous;
    this.#ignoringConflicts(
      this.#options.storage.commit({ key, value, expected: "absent" }, { signal: uncancelled }),
    );
  }

  #wait(): void {
    const [first] = this.#unused.values();
    if (first === undefined || this.#timer !== undefined || this.#stopping.signal.aborted) return;
    const { clock } = this.#options;
    this.#timer = clock.schedule(Math.max(0, first - clock.monotonic()), () => {
      this.#timer = undefined;
      this.#collect();
      this.#wait();
    });
  }

  #collect(): void {
    const { clock, isUsed } = this.#options;
    const now = clock.monotonic();
    for (const [uid, dueAt] of this.#unused) {
      if (dueAt > now) return;
      this.#unused.delete(uid);
      if (!isUsed(uid)) this.#ignoringConflicts(this.#remove(uid));
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

  /**
   * Another server may delete the same copy; a copy whose deletion fails is found at the next
   * start.
   */
  #ignoringConflicts(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!isStorageError(error, "conflict")) this.#options.onError(error);
    });
  }
}
