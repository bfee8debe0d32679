/**
 * Something that is known of each logical cluster from a few of its collections. Loaded from storage when a cluster is first asked for,
 * kept true by the hub, forgotten when many other clusters were asked for since.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ownText } from "../request/own-text.ts";
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
import { type HubEvent, type WatchHub, whenClustersGo } from "../watch-cache/index.ts";

export interface ClusterIndexOptions<State> {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly collections: readonly ResourceKey[];
  readonly clustersMax?: number;
  create(): State;
  /** Takes note of an object; undefined when it is gone. */
  note(state: State, key: StorageKey, entry: Entry | undefined): void;
}

/** Logical clusters that are held; one of which there is nothing to know takes some hundred bytes. */
const clustersDefaultMax = 50_000;
const pageEntries = 100;
const neverAborted = new AbortController().signal;

interface Loading<State> {
  readonly events: { readonly collection: ResourceKey; readonly event: HubEvent }[];
  readonly done: Promise<State>;
}

export class ClusterIndex<State> {
  readonly #options: ClusterIndexOptions<State>;
  /** Clusters used lately, and those before them: when the first half is full, the second is forgotten. */
  #young = new Map<ClusterName, State>();
  #old = new Map<ClusterName, State>();
  readonly #loading = new Map<ClusterName, Loading<State>>();

  constructor(options: ClusterIndexOptions<State>) {
    this.#options = options;
    for (const collection of options.collections) this.#listen(collection);
    whenClustersGo(options.hub, (cluster) => {
      this.#young.delete(cluster);
      this.#old.delete(cluster);
      this.#loading.delete(cluster);
    });
  }

  get size(): number {
    return this.#young.size + this.#old.size;
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
    const known = this.#young.get(cluster) ?? this.#old.get(cluster);
    if (known !== undefined) this.#options.note(known, event.key, event.current);
  }

  #onLost(collection: ResourceKey, error: StorageError): void {
    this.#young.clear();
    this.#old.clear();
    this.#loading.clear();
    if (error.code !== "closed") this.#listen(collection);
  }

  async #load(cluster: ClusterName, events: Loading<State>["events"]): Promise<State> {
    const { hub, collections, create, note } = this.#options;
    const state = create();
    const revisions = await Promise.all(
      collections.map((collection) => this.#read(cluster, collection, state)),
    );
    for (const revision of revisions) await hub.reach(revision, neverAborted);
    for (const { collection, event } of events) {
      const revision = revisions[collections.indexOf(collection)] as Revision;
      if (event.revision > revision) note(state, event.key, event.current);
    }
    // Kept in the turn in which it caught up, so that no event comes in between. What was lost meanwhile is loaded again by whoever asks next.
    if (this.#loading.get(cluster)?.events === events) this.#keep(cluster, state);
    return state;
  }

  async #read(cluster: ClusterName, collection: ResourceKey, state: State): Promise<Revision> {
    const { storage, note } = this.#options;
    const prefix = clusterPrefix({ ...collection, cluster });
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, {
        signal: neverAborted,
        entriesMax: pageEntries,
        continueAfter,
      });
      for (const entry of page.entries) note(state, entry.key, entry);
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
    this.#young.set(ownText(cluster), state);
  }
}
