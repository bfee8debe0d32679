/**
 * Looks once at every stored object of some kinds, page by page, without holding anything up.
 *
 * At a start there may be very many, and requests to answer meanwhile: all surveys together take turns and have a third of the time at most, and what comes
 * of one page is done before the next is read.
 */

import { collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import {
  type Entry,
  resourcePrefix,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { type Supervisor, sleep, systemClock } from "@kcp-ts/machinery/base";

export interface ScanTask {
  readonly definition: ResourceDefinition;
  /** A promise is waited for; it must not reject. */
  readonly look: (entry: Entry) => unknown;
  /** When all of them were looked at. */
  readonly end?: () => void;
  /** So many are looked at in one go; fewer where something is done about each. */
  readonly atOnce?: number;
}

const pageEntries = 200;
/** So many times as long as a page took is nothing done. */
const restFactor = 2;
const restMsMax = 100;

export class BackgroundScan {
  readonly #storage: Storage;
  readonly #supervisor: Supervisor;
  readonly #stopping = new AbortController();
  /** Resolves when whoever is at work has done a page and rested. */
  #turn: Promise<void> = Promise.resolve();

  constructor({ storage, supervisor }: { storage: Storage; supervisor: Supervisor }) {
    this.#storage = storage;
    this.#supervisor = supervisor;
  }

  /** Resolves at the end, or when it is stopped. A survey that fails begins anew: looks may be repeated. */
  run(looks: readonly ScanTask[]): Promise<void> {
    const { signal } = this.#stopping;
    return this.#supervisor.runTask("workspaces", signal, () => this.#run(looks));
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #run(looks: readonly ScanTask[]): Promise<void> {
    for (const one of looks) {
      for (let after: StorageKey | undefined, more = true; more; ) {
        const page = this.#turn.then(() => this.#page(one, after));
        this.#turn = page.then(
          ({ restMs }) => (restMs === 0 ? undefined : this.#rest(restMs)),
          () => undefined,
        );
        ({ after, more } = await page);
      }
      one.end?.();
    }
  }

  async #page(
    { definition, look, atOnce = pageEntries }: ScanTask,
    continueAfter: StorageKey | undefined,
  ): Promise<{ after: StorageKey | undefined; more: boolean; restMs: number }> {
    const { signal } = this.#stopping;
    signal.throwIfAborted();
    const startedAt = systemClock.monotonic();
    const { entries, more } = await this.#storage.list(
      resourcePrefix(collectionKeyOf(definition)),
      { signal, entriesMax: atOnce, continueAfter },
    );
    await Promise.all(entries.map(look));
    const tookMs = systemClock.monotonic() - startedAt;
    // A store of a page or two is nobody's burden.
    const restMs = more ? Math.min(restMsMax, tookMs * restFactor) : 0;
    return { after: entries.at(-1)?.key, more, restMs };
  }

  /** By the clock of the machine, whose time it is about. */
  async #rest(ms: number): Promise<void> {
    try {
      await sleep(systemClock, ms, this.#stopping.signal);
    } catch {
      // It stops: the next page notices.
    }
  }
}
