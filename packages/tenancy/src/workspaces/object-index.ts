/**
 * What is known of objects of one kind, by key: read from the store when first asked for, kept true by the hub, forgotten when many others
 * were asked for since. It keeps the few members that decisions need, never whole objects; and also that there is no such object.
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
  /** Told of every change, whether or not the object was known; after the index knows of it. */
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
  /** In order of last use, oldest first; as long as it is half empty, of first use. */
  readonly #held = new Map<StorageKey, VersionedRecord<Known>>();
  readonly #loading = new Map<StorageKey, Loading<Known>>();

  constructor(options: ObjectIndexOptions<Known>) {
    this.#options = options;
    this.#listen();
  }

  get #recordsMax(): number {
    return this.#options.recordsMax ?? recordsDefaultMax;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Without a promise when it is at hand. */
  get(key: StorageKey): MaybePromise<Known | undefined> {
    const held = this.#held.get(key);
    if (held !== undefined) {
      // Every request asks: the order is kept when somebody may have to go soon.
      if (this.#held.size * 2 > this.#recordsMax) {
        this.#held.delete(key);
        this.#held.set(key, held);
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
    // Whoever loads it may have read the state before this change.
    this.#loading.delete(key);
    const held = this.#held.get(key);
    if (held !== undefined && held.revision < event.revision) {
      // What is gone will not be asked for again, by those who know what they do.
      if (event.current === undefined) this.#held.delete(key);
      else this.#held.set(key, this.#hold(event.current, event.revision));
    }
    this.#options.onChange?.(event);
  }

  onLost(error: StorageError): void {
    this.#held.clear();
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
      // What changed meanwhile is read again by whoever asks next.
      return this.#loading.get(key)?.ticket === ticket
        ? this.#keep(key, entry, revision)
        : this.#hold(entry, revision).value;
    } finally {
      if (this.#loading.get(key)?.ticket === ticket) this.#loading.delete(key);
    }
  }

  #keep(key: StorageKey, entry: Entry | undefined, revision: Revision): Known | undefined {
    const held = this.#hold(entry, revision);
    this.#held.set(key, held);
    if (this.#held.size > this.#recordsMax) {
      const [oldest] = this.#held.keys();
      if (oldest !== undefined) this.#held.delete(oldest);
    }
    return held.value;
  }

  #hold(entry: Entry | undefined, revision: Revision): VersionedRecord<Known> {
    return {
      value: entry === undefined ? undefined : this.#options.read(decodeObject(entry)),
      revision,
    };
  }
}
