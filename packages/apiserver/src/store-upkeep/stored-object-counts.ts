/**
 * The number of stored objects of each built-in kind, in all logical clusters together: for
 * metrics. Objects are counted once, on the first scrape, and updated by events from then on. CRDs
 * of tenants are not counted: the series would grow with every tenant.
 */
import { builtIns, collectionKeyOf, type ResourceDefinition } from "../registry/index.ts";
import type { ServerLog } from "../server-log.ts";
import { resourcePrefix, type Storage, type StorageKey } from "../storage/index.ts";
import type { HubListener, WatchHub } from "../watch-cache/index.ts";

interface KindCount {
  readonly name: string;
  readonly prefix: StorageKey;
  counted: number;
  /** Creates minus deletes since the count. */
  change: number;
  stop: () => void;
}

export class StoredObjectCounts {
  readonly #storage: Storage;
  readonly #hub: WatchHub;
  readonly #log: ServerLog;
  readonly #stop = new AbortController();
  #counts: readonly KindCount[] = [];
  #counting: Promise<void> | undefined;
  #isCounted = false;

  constructor(storage: Storage, hub: WatchHub, log: ServerLog) {
    this.#storage = storage;
    this.#hub = hub;
    this.#log = log;
  }

  /** The current counts; the first call starts counting for later calls. */
  read(): (readonly [labels: readonly string[], count: number])[] {
    this.#counting ??= this.#begin().catch((error) => this.#fail(error));
    if (!this.#isCounted) return [];
    return this.#counts.map(({ name, counted, change }) => [[name], counted + change]);
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the server is stopping"));
    await this.#counting;
    this.#forget();
  }

  async #begin(): Promise<void> {
    const { signal } = this.#stop;
    const atRevision = this.#hub.revision;
    const prefixes = new Map(builtIns.map((each) => [prefixOf(each), each]));
    this.#counts = [...prefixes].map(([prefix, definition]) => this.#follow(prefix, definition));
    for (const tally of this.#counts)
      tally.counted = await this.#storage.count(tally.prefix, { signal, atRevision });
    this.#isCounted = true;
  }

  #follow(prefix: StorageKey, { group, resource }: ResourceDefinition): KindCount {
    const name = group === "" ? resource : `${resource}.${group}`;
    const tally: KindCount = { name, prefix, counted: 0, change: 0, stop: () => {} };
    const listener: HubListener = {
      onEvent: ({ current, previous }) => {
        if (current === undefined) tally.change--;
        else if (previous === undefined) tally.change++;
      },
      // Counted anew on the next call.
      onLost: () => this.#forget(),
    };
    tally.stop = this.#hub.listen(prefix, listener);
    return tally;
  }

  #fail(error: unknown): void {
    this.#forget();
    if (this.#stop.signal.aborted) return;
    this.#log.warn({ err: error }, "stored objects could not be counted");
  }

  #forget(): void {
    for (const { stop } of this.#counts) stop();
    this.#counts = [];
    this.#isCounted = false;
    if (!this.#stop.signal.aborted) this.#counting = undefined;
  }
}

function prefixOf(definition: ResourceDefinition): StorageKey {
  return resourcePrefix(collectionKeyOf(definition));
}
