/**
 * A bounded index of objects of one kind, by key: read from the store on the first request, updated
 * by the hub, evicted by last use. The index holds the few fields that decisions need, never
 * complete objects; and also the absence of an object.
 */
import { collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import {
  type Entry,
  type Revision,
  resourcePrefix,
  type StorageError,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent, HubListener, WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { neverAborted } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";

export interface ObjectIndexOptions<Known> {
  readonly watchCache: WatchCache;
  readonly definition: ResourceDefinition;
  readonly read: (object: JsonObject) => Known;
  readonly recordsMax?: number;
  /** Called for every change, of indexed and other objects, after the index was updated. */
  readonly onChange?: (event: HubEvent) => void;
}

interface VersionedRecord<Known> {
  readonly value: Known | undefined;
  readonly revision: Revision;
}

interface Loading<Known> {
  readonly ticket: object;
  done: Promise<Known | undefined>;
}

/** Some hundred bytes each. */
const recordsDefaultMax = 20_000;

export class ObjectIndex<Known> implements HubListener {
  readonly #options: ObjectIndexOptions<Known>;
  /** In order of last use, oldest first; of first use while the index is less than half full. */
  readonly #records = new Map<StorageKey, VersionedRecord<Known>>();
  readonly #loading = new Map<StorageKey, Loading<Known>>();

  constructor(options: ObjectIndexOptions<Known>) {
    this.#options = options;
    this.#listen();
  }

  get #recordsMax(): number {
    return this.#options.recordsMax ?? recordsDefaultMax;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Returns without a promise when the object is indexed. */
  get(key: StorageKey): MaybePromise<Known | undefined> {
    const held = this.#records.get(key);
    if (held !== undefined) {
      // Every request calls this: the order of use is maintained only when an eviction may be near.
      if (this.#records.size * 2 > this.#recordsMax) {
        this.#records.delete(key);
        this.#records.set(key, held);
      }
      return held.value;
    }
    const entry = this.#options.watchCache.peek(key);
    if (entry !== undefined) return this.#keep(key, entry, entry.modifiedAt);
    const known = this.#loading.get(key);
    if (known !== undefined) return known.done;
    const loading: Loading<Known> = { ticket: {}, done: Promise.resolve(undefined) };
    this.#loading.set(key, loading);
    loading.done = this.#load(key, loading.ticket);
    return loading.done;
  }

  onEvent(event: HubEvent): void {
    const { key } = event;
    // A load in flight may have read the state before this change.
    this.#loading.delete(key);
    const held = this.#records.get(key);
    if (held !== undefined && held.revision < event.revision) {
      // Deleted objects are rarely requested again, so their record is dropped.
      if (event.current === undefined) this.#records.delete(key);
      else this.#records.set(key, this.#store(event.current, event.revision));
    }
    this.#options.onChange?.(event);
  }

  onLost(error: StorageError): void {
    this.#records.clear();
    this.#loading.clear();
    if (error.code !== "closed") this.#listen();
  }

  #listen(): void {
    const { watchCache, definition } = this.#options;
    watchCache.hub.listen(resourcePrefix(collectionKeyOf(definition)), this);
  }

  async #load(key: StorageKey, ticket: object): Promise<Known | undefined> {
    try {
      const entry = await this.#options.watchCache.get(key, { kind: "latest" }, neverAborted);
      const revision = entry?.modifiedAt ?? (0 as Revision);
      // An object that changed during the load is read again by the next caller.
      return this.#loading.get(key)?.ticket === ticket
        ? this.#keep(key, entry, revision)
        : this.#store(entry, revision).value;
    } finally {
      if (this.#loading.get(key)?.ticket === ticket) this.#loading.delete(key);
    }
  }

  #keep(key: StorageKey, entry: Entry | undefined, revision: Revision): Known | undefined {
    const held = this.#store(entry, revision);
    this.#records.set(key, held);
    if (this.#records.size > this.#recordsMax) {
      const [oldest] = this.#records.keys();
      if (oldest !== undefined) this.#records.delete(oldest);
    }
    return held.value;
  }

  #store(entry: Entry | undefined, revision: Revision): VersionedRecord<Known> {
    return {
      value: entry === undefined ? undefined : this.#options.read(decodeObject(entry)),
      revision,
    };
  }
}
