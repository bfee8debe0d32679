/**
 * Visits every stored object of some kinds once, page by page, without delaying requests.
 *
 * At a start there may be very many objects, and requests to serve at the same time: all scans
 * together take turns and use a third of the time at most, and the visits of one page end before
 * the next page is read.
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
  /** A returned promise is awaited; it must not reject. */
  readonly visit: (entry: Entry) => unknown;
  /** Called when all objects were visited. */
  readonly onDone?: () => void;
  /** The objects per page; fewer where the visit of each object writes. */
  readonly pageSize?: number;
}

const pageEntries = 200;
/** The pause after a page, as a multiple of the time that the page took. */
const restFactor = 2;
const restMsMax = 100;

export class BackgroundScan {
  readonly #storage: Storage;
  readonly #supervisor: Supervisor;
  readonly #stopping = new AbortController();
  /** Resolves when the scan that runs now has finished its page and its pause. */
  #lastPage: Promise<void> = Promise.resolve();

  constructor({ storage, supervisor }: { storage: Storage; supervisor: Supervisor }) {
    this.#storage = storage;
    this.#supervisor = supervisor;
  }

  /**
   * Resolves at the end, or when the scan is stopped. A scan that fails begins anew: visits may be
   * repeated.
   */
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
        const page = this.#lastPage.then(() => this.#page(one, after));
        this.#lastPage = page.then(
          ({ restMs }) => (restMs === 0 ? undefined : this.#pause(restMs)),
          () => undefined,
        );
        ({ after, more } = await page);
      }
      one.onDone?.();
    }
  }

  async #page(
    { definition, visit, pageSize = pageEntries }: ScanTask,
    continueAfter: StorageKey | undefined,
  ): Promise<{ after: StorageKey | undefined; more: boolean; restMs: number }> {
    const { signal } = this.#stopping;
    signal.throwIfAborted();
    const startedAt = systemClock.monotonic();
    const { entries, more } = await this.#storage.list(
      resourcePrefix(collectionKeyOf(definition)),
      { signal, entriesMax: pageSize, continueAfter },
    );
    await Promise.all(entries.map(visit));
    const tookMs = systemClock.monotonic() - startedAt;
    // The scan of a store with one or two pages does not pause.
    const restMs = more ? Math.min(restMsMax, tookMs * restFactor) : 0;
    return { after: entries.at(-1)?.key, more, restMs };
  }

  /** Uses the machine's clock, because the pause is about the machine's time. */
  async #pause(ms: number): Promise<void> {
    try {
      await sleep(systemClock, ms, this.#stopping.signal);
    } catch {
      // The scan was stopped: the loop ends before the next page.
    }
  }
}
