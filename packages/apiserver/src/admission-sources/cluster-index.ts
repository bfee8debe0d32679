/**
 * ClusterIndex: state of each logical cluster that is derived from a few of its collections. The
 * state is loaded from storage when a cluster is first requested, updated by events of the hub, and
 * evicted when many other clusters have been requested since.
 */
import { neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { copyString } from "../request/copy-string.ts";
import {
  clusterPrefix,
  type Entry,
  parseObjectKey,
  type ResourceKey,
  type Revision,
  resourcePrefix,
  type Storage,
  type StorageError,
  type StorageKey,
} from "../storage/index.ts";
import { type HubEvent, isContinuous, type WatchHub } from "../watch-cache/index.ts";

export interface ClusterIndexOptions<State> {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly collections: readonly ResourceKey[];
  readonly clustersMax?: number;
  /**
   * False when the collection is empty as of the hub's current revision: a new cluster is then not
   * read from storage.
   */
  readonly mayContain?: ((cluster: ClusterName, collection: ResourceKey) => boolean) | undefined;
  create(): State;
  /** Applies an object to the state; undefined when the object is deleted. */
  apply(state: State, key: StorageKey, entry: Entry | undefined): void;
}

/**
 * The number of logical clusters in the index; a cluster with an empty state takes about a hundred
 * bytes.
 */
const clustersDefaultMax = 50_000;
const pageEntries = 100;

interface Loading<State> {
  readonly events: { readonly collection: ResourceKey; readonly event: HubEvent }[];
  readonly done: Promise<State>;
}

export class ClusterIndex<State> {
  readonly #options: ClusterIndexOptions<State>;
  /**
   * The clusters used lately, and those used before them: when the first map is full, the second is
   * evicted.
   */
  #young = new Map<ClusterName, State>();
  #old = new Map<ClusterName, State>();
  readonly #loading = new Map<ClusterName, Loading<State>>();
  /** The shared state of all empty clusters: it is never changed. */
  readonly #emptyIndex: State;

  constructor(options: ClusterIndexOptions<State>) {
    this.#options = options;
    this.#emptyIndex = options.create();
    for (const collection of options.collections) this.#listen(collection);
    options.hub.clusterDeletions.onDeleted((cluster) => {
      this.#young.delete(cluster);
      this.#old.delete(cluster);
      this.#loading.delete(cluster);
    });
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Whether the cluster was used lately, and is known to have no object in the collections. */
  isEmpty(cluster: ClusterName): boolean {
    return this.#young.get(cluster) === this.#emptyIndex;
  }

  peek(cluster: ClusterName): State | undefined {
    const found = this.#young.get(cluster);
    if (found !== undefined) return found;
    const older = this.#old.get(cluster);
    if (older === undefined) return undefined;
    this.#old.delete(cluster);
    this.#keep(cluster, older);
    return older;
  }

  load(cluster: ClusterName): Promise<State> {
    const found = this.peek(cluster);
    if (found !== undefined) return Promise.resolve(found);
    const known = this.#loading.get(cluster);
    if (known !== undefined) return known.done;
    const events: Loading<State>["events"] = [];
    const done = this.#load(cluster, events).finally(() => {
      if (this.#loading.get(cluster)?.events === events) this.#loading.delete(cluster);
    });
    this.#loading.set(cluster, { events, done });
    return done;
  }

  #listen(collection: ResourceKey): void {
    this.#options.hub.listen(resourcePrefix(collection), {
      onEvent: (event) => this.#onEvent(collection, event),
      onLost: (error) => this.#onLost(collection, error),
    });
  }

  #onEvent(collection: ResourceKey, event: HubEvent): void {
    const { cluster } = parseObjectKey(event.key);
    this.#loading.get(cluster)?.events.push({ collection, event });
    const among = this.#young.has(cluster) ? this.#young : this.#old;
    let known = among.get(cluster);
    if (known === undefined) return;
    if (known === this.#emptyIndex) {
      if (event.current === undefined) return;
      known = this.#options.create();
      among.set(cluster, known);
    }
    this.#options.apply(known, event.key, event.current);
  }

  #onLost(collection: ResourceKey, error: StorageError): void {
    this.#young.clear();
    this.#old.clear();
    this.#loading.clear();
    if (error.code !== "closed") this.#listen(collection);
  }

  async #load(cluster: ClusterName, events: Loading<State>["events"]): Promise<State> {
    const { hub, collections, create, apply } = this.#options;
    if (await this.#isEmpty(cluster)) {
      if (this.#loading.get(cluster)?.events === events) this.#keep(cluster, this.#emptyIndex);
      return this.#emptyIndex;
    }
    let isNothing = true;
    const loaded = create();
    const take = (key: StorageKey, entry: Entry | undefined) => {
      isNothing = false;
      apply(loaded, key, entry);
    };
    const revisions = await Promise.all(
      collections.map((collection) => this.#read(cluster, collection, take)),
    );
    const newest = Math.max(...revisions) as Revision;
    if (!(await isContinuous(hub.waitForRevision(newest, neverAborted)))) return this.load(cluster);
    for (const { collection, event } of events) {
      const revision = revisions[collections.indexOf(collection)] as Revision;
      if (event.revision > revision) take(event.key, event.current);
    }
    const state = isNothing ? this.#emptyIndex : loaded;
    // Stored in the turn in which it caught up, so that no event comes in between. State that was
    // evicted meanwhile is loaded again by the next request.
    if (this.#loading.get(cluster)?.events === events) this.#keep(cluster, state);
    return state;
  }

  /** Whether the cluster is empty, including every write that was acknowledged before the call. */
  async #isEmpty(cluster: ClusterName): Promise<boolean> {
    const { storage, hub, collections, mayContain } = this.#options;
    if (mayContain === undefined) return false;
    const isUnused = () => !collections.some((collection) => mayContain(cluster, collection));
    if (!isUnused()) return false;
    const current = await storage.currentRevision({ signal: neverAborted });
    return (await isContinuous(hub.waitForRevision(current, neverAborted))) && isUnused();
  }

  async #read(
    cluster: ClusterName,
    collection: ResourceKey,
    take: (key: StorageKey, entry: Entry) => void,
  ): Promise<Revision> {
    const { storage } = this.#options;
    const { group, resource, identity } = collection;
    const prefix = clusterPrefix({ group, resource, identity, cluster });
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, {
        signal: neverAborted,
        entriesMax: pageEntries,
        continueAfter,
      });
      for (const entry of page.entries) take(entry.key, entry);
      if (!page.more) return page.revision;
      continueAfter = page.entries.at(-1)?.key;
    }
  }

  #keep(cluster: ClusterName, state: State): void {
    const { clustersMax = clustersDefaultMax } = this.#options;
    if (this.#young.size >= clustersMax / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(copyString(cluster), state);
  }
}
