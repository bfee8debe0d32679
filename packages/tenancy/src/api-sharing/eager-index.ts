/**
 * An index of small records of all objects of one kind in all logical clusters: listed at the
 * start, updated by the hub, so that decisions never wait for a read.
 */
import { collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import {
  type Entry,
  type Revision,
  resourcePrefix,
  type Storage,
  type StorageError,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import {
  type HubEvent,
  type HubListener,
  isContinuous,
  type WatchHub,
} from "@kcp-ts/apiserver/watch-cache";
import { type Supervisor, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { asOriginal, originalKey, replicaPrefix } from "../replicas/index.ts";

export interface EagerIndexOptions<Known> {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly definition: ResourceDefinition;
  readonly read: (entry: Entry) => Known;
  /** Called for every record that is created, changed or deleted. */
  readonly onChange: (key: StorageKey, now: Known | undefined, before: Known | undefined) => void;
  readonly supervisor: Supervisor;
  /** Set for an index of replicas: its keys are those of their originals. */
  readonly isOfReplicas?: boolean;
}

interface VersionedRecord<Known> {
  readonly value: Known | undefined;
  readonly revision: Revision;
}

const pageEntries = 200;

export class EagerIndex<Known> implements HubListener {
  readonly #options: EagerIndexOptions<Known>;
  readonly #records = new Map<StorageKey, VersionedRecord<Known>>();
  readonly #stop = new AbortController();
  #loading: Promise<void> | undefined;

  constructor(options: EagerIndexOptions<Known>) {
    this.#options = options;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Undefined when the index is complete; a promise while it is relisted after lost events. */
  get loading(): Promise<void> | undefined {
    return this.#loading;
  }

  get(key: StorageKey): Known | undefined {
    return this.#records.get(key)?.value;
  }

  *values(): Generator<Known> {
    for (const { value } of this.#records.values()) if (value !== undefined) yield value;
  }

  /** The hub must be open. */
  start(): Promise<void> {
    return this.#begin(() => this.#load());
  }

  get #prefix(): StorageKey {
    const { definition, isOfReplicas } = this.#options;
    return isOfReplicas === true
      ? replicaPrefix(definition)
      : resourcePrefix(collectionKeyOf(definition));
  }

  #begin(load: () => Promise<void>): Promise<void> {
    const { hub } = this.#options;
    hub.listen(this.#prefix, this);
    const loading = load().finally(() => {
      if (this.#loading === loading) this.#loading = undefined;
    });
    this.#loading = loading;
    return loading;
  }

  stop(): void {
    this.#stop.abort();
  }

  onEvent({ key, current, revision }: HubEvent): void {
    const stored = this.#put(key, current, revision);
    // During a list, deleted objects stay as tombstones.
    if (current === undefined && this.#loading === undefined) this.#records.delete(stored);
  }

  onLost(error: StorageError): void {
    if (error.code === "closed" || this.#stop.signal.aborted) return;
    for (const [key, { value }] of this.#records)
      if (value !== undefined) this.#options.onChange(key, undefined, value);
    this.#records.clear();
    const { supervisor, definition } = this.#options;
    const { signal } = this.#stop;
    // Readers wait until the relist is complete.
    void this.#begin(() =>
      supervisor.runTask(`index/${definition.resource}`, signal, () => this.#load()),
    );
  }

  async #load(): Promise<void> {
    const { storage, hub } = this.#options;
    const { signal } = this.#stop;
    const prefix = this.#prefix;
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) this.#put(entry.key, entry, entry.modifiedAt);
      if (!page.more) {
        // Waiters of this list wait for the newer list instead.
        if (!(await isContinuous(hub.waitForRevision(page.revision, signal)))) return this.#loading;
        break;
      }
      continueAfter = page.entries.at(-1)?.key;
      await yieldToEventLoop();
    }
    for (const [key, { value }] of this.#records)
      if (value === undefined) this.#records.delete(key);
  }

  /** Returns the key of the record. */
  #put(storedKey: StorageKey, stored: Entry | undefined, revision: Revision): StorageKey {
    const { definition, isOfReplicas, read, onChange } = this.#options;
    const isOriginal = isOfReplicas !== true;
    const key = isOriginal ? storedKey : originalKey(definition, storedKey);
    const held = this.#records.get(key);
    if (held !== undefined && held.revision >= revision) return key;
    const entry = isOriginal || stored === undefined ? stored : asOriginal(definition, stored);
    const value = entry === undefined ? undefined : read(entry);
    this.#records.set(key, { value, revision });
    onChange(key, value, held?.value);
    return key;
  }
}
