/**
 * How many objects of each built-in kind are stored, in all logical clusters together: for metrics. They are counted once, when somebody first asks,
 * and kept true by what changes from then on. Kinds of tenants' own are not told: there would be more of them with every tenant.
 */
import { builtIns, collectionKeyOf, type ResourceDefinition } from "../registry/index.ts";
import type { ServerLog } from "../server-log.ts";
import { resourcePrefix, type Storage, type StorageKey } from "../storage/index.ts";
import type { HubListener, WatchHub } from "../watch-cache/index.ts";

interface KindCount {
  readonly name: string;
  readonly prefix: StorageKey;
  counted: number;
  /** What was created since, less what was deleted. */
  change: number;
  stop: () => void;
}

export class StoredObjectCounts {
  readonly #storage: Storage;
  readonly #hub: WatchHub;
  readonly #log: ServerLog;
  readonly #stop = new AbortController();
  #tallies: readonly KindCount[] = [];
  #counting: Promise<void> | undefined;
  #isCounted = false;

  constructor(storage: Storage, hub: WatchHub, log: ServerLog) {
    this.#storage = storage;
    this.#hub = hub;
    this.#log = log;
  }

  /** What is known now; the first to ask has them counted for those who ask later. */
  read(): (readonly [labels: readonly string[], count: number])[] {
    this.#counting ??= this.#begin().catch((error) => this.#fail(error));
    if (!this.#isCounted) return [];
    return this.#tallies.map(({ name, counted, change }) => [[name], counted + change]);
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
    this.#tallies = [...prefixes].map(([prefix, definition]) => this.#follow(prefix, definition));
    for (const tally of this.#tallies)
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
      // Counted anew, when somebody asks again.
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
    for (const { stop } of this.#tallies) stop();
    this.#tallies = [];
    this.#isCounted = false;
    if (!this.#stop.signal.aborted) this.#counting = undefined;
  }
}

function prefixOf(definition: ResourceDefinition): StorageKey {
  return resourcePrefix(collectionKeyOf(definition));
}
