/**
 * Follows the wanted objects of one kind in one logical cluster of another shard: reads them when
 * they are wanted first, and watches their collection. The watch resumes where it ended, also after
 * a restart of this server; when the other shard has no such history any more, all wanted objects
 * are read again.
 *
 *     wanted name ──► get ──► replica
 *     position ──► watch of the collection ──► replica of each wanted name
 */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { ReplicaStore } from "./replica-store.ts";
import {
  HistoryCompactedError,
  revisionOfObject,
  type ShardEvent,
  type ShardReader,
} from "./shard-reader.ts";

export interface ReplicaFeedOptions {
  readonly definition: ResourceDefinition;
  readonly cluster: ClusterName;
  /** Every object of the collection is wanted. */
  readonly isComplete: boolean;
  readonly reader: ShardReader;
  readonly store: ReplicaStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

interface WantedName {
  isHere: boolean;
  usedAt: number;
}

const retryMinMs = 250;
const retryMaxMs = 30_000;

export class ReplicaFeed {
  readonly #options: ReplicaFeedOptions;
  readonly #names = new Map<string, WantedName>();
  readonly #asking = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  /** Everything up to this revision was seen; 0: nothing. */
  #position = 0;
  #running: Promise<void> | undefined;
  /** Whether the other shard answers: what it has is known then. */
  #isConnected = false;

  constructor(options: ReplicaFeedOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#names.size;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** A replica that an earlier process stored. */
  restore(name: string, position: number): void {
    this.#names.set(name, { isHere: true, usedAt: this.#now });
    this.#position = Math.max(this.#position, position);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Undefined when the object is here; a promise while it is read, if it exists. */
  want(name: string): Promise<void> | undefined {
    const known = this.#names.get(name);
    if (known?.isHere === true) {
      known.usedAt = this.#now;
      return undefined;
    }
    const asking = this.#asking.get(name);
    if (asking !== undefined) return asking;
    const asked = this.#ask(name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asked);
    return asked;
  }

  /** Forgets the names that were not used since then, unless they are needed. */
  async forgetUnused(
    since: { readonly here: number; readonly absent: number },
    isNeeded: (name: string) => boolean,
  ): Promise<void> {
    const { definition, cluster, isComplete, store } = this.#options;
    if (!this.#isConnected || isComplete) return;
    for (const [name, { isHere, usedAt }] of this.#names) {
      if (usedAt > (isHere ? since.here : since.absent) || isNeeded(name)) continue;
      this.#names.delete(name);
      if (isHere) await store.remove(definition, cluster, name);
    }
  }

  async forgetAll(): Promise<void> {
    const { definition, cluster, store } = this.#options;
    for (const name of this.#names.keys()) await store.remove(definition, cluster, name);
    this.#names.clear();
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  async #ask(name: string): Promise<void> {
    const { definition, cluster, reader } = this.#options;
    // Wanted before it is read: from now on, no change of it is missed.
    const wanted = this.#names.get(name) ?? { isHere: false, usedAt: this.#now };
    this.#names.set(name, wanted);
    wanted.usedAt = this.#now;
    try {
      if (this.#position === 0) this.#position = await reader.revisionOf(definition, cluster);
      const object = await reader.get(definition, cluster, name);
      await this.#put(name, object, true);
    } catch (error) {
      if (!wanted.isHere) this.#names.delete(name);
      throw error;
    }
    this.start();
  }

  async #put(name: string, object: JsonObject | undefined, isCurrent: boolean): Promise<void> {
    const { definition, cluster, store, isComplete } = this.#options;
    const known = this.#names.get(name);
    if (known === undefined && !isComplete) return;
    if (object === undefined) await store.remove(definition, cluster, name);
    else await store.put(definition, cluster, object, { position: this.#position, isCurrent });
    const wanted = known ?? { isHere: false, usedAt: this.#now };
    wanted.isHere = object !== undefined;
    if (isComplete && object === undefined) this.#names.delete(name);
    else this.#names.set(name, wanted);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      for (let failures = 0; !signal.aborted; failures++) {
        const error = await this.#follow(() => {
          failures = 0;
        });
        if (error === undefined || signal.aborted) continue;
        this.#isConnected = false;
        // The first of a row: the others say the same.
        if (failures === 0) this.#options.onError(error);
        await sleep(this.#options.clock, Math.min(retryMaxMs, retryMinMs * 2 ** failures), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Returns the error that ended the watch. */
  async #follow(onConnected: () => void): Promise<unknown> {
    try {
      if (this.#position === 0) await this.#readAll();
      await this.#watch(onConnected);
      return undefined;
    } catch (error) {
      if (!(error instanceof HistoryCompactedError)) return error;
      this.#position = 0;
      return undefined;
    }
  }

  async #readAll(): Promise<void> {
    const { definition, cluster, reader, isComplete } = this.#options;
    if (isComplete) {
      const { items, revision } = await reader.list(definition, cluster);
      const there = new Set(items.map(nameOf));
      for (const object of items) await this.#put(nameOf(object), object, true);
      for (const name of this.#names.keys())
        if (!there.has(name)) await this.#put(name, undefined, true);
      this.#position = revision;
      return;
    }
    const revision = await reader.revisionOf(definition, cluster);
    for (const name of this.#names.keys())
      await this.#put(name, await reader.get(definition, cluster, name), true);
    this.#position = revision;
  }

  async #watch(onConnected: () => void): Promise<void> {
    const { definition, cluster, reader, clock } = this.#options;
    const { signal } = this.#stopping;
    for await (const event of reader.watch(definition, cluster, this.#position, signal)) {
      if (event === "open") {
        this.#isConnected = true;
        onConnected();
      } else await this.#apply(event);
    }
    // A watch ends from time to time; one that ends at once must not be opened in a loop.
    await sleep(clock, retryMinMs, signal);
  }

  async #apply({ type, object }: ShardEvent): Promise<void> {
    const { definition, cluster, store } = this.#options;
    const [name, revision] = [nameOf(object), revisionOfObject(object)];
    const wanted = this.#names.get(name);
    if (type === "DELETED" && wanted !== undefined)
      wanted.isHere = await store.removeUpTo(revision, definition, cluster, name);
    else if (type !== "BOOKMARK") await this.#put(name, object, false);
    this.#position = Math.max(this.#position, revision);
  }
}

function nameOf({ metadata }: JsonObject): string {
  return isJsonObject(metadata) ? textOf(metadata["name"]) : "";
}
