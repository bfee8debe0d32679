/**
 * Something that is known of each logical cluster from a few of its collections. Loaded from storage when a cluster is first asked for,
 * kept true by the hub, forgotten when many other clusters were asked for since.
 */
import { neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { copyString } from "../request/own-text.ts";
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
  /** False when there is nothing, as far as the hub has come: a new cluster is not read in order to find that out. */
  readonly mayHave?: ((cluster: ClusterName, collection: ResourceKey) => boolean) | undefined;
  create(): State;
  /** Takes note of an object; undefined when it is gone. */
  note(state: State, key: StorageKey, entry: Entry | undefined): void;
}

/** Logical clusters that are held; one of which there is nothing to know takes about a hundred bytes. */
const clustersDefaultMax = 50_000;
const pageEntries = 100;

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
  /** What is known of all clusters that have nothing: nothing is ever noted in it. */
  readonly #nothing: State;

  constructor(options: ClusterIndexOptions<State>) {
    this.#options = options;
    this.#nothing = options.create();
    for (const collection of options.collections) this.#listen(collection);
    options.hub.gone.tell((cluster) => {
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
    const among = this.#young.has(cluster) ? this.#young : this.#old;
    let known = among.get(cluster);
    if (known === undefined) return;
    if (known === this.#nothing) {
      if (event.current === undefined) return;
      known = this.#options.create();
      among.set(cluster, known);
    }
    this.#options.note(known, event.key, event.current);
  }

  #onLost(collection: ResourceKey, error: StorageError): void {
    this.#young.clear();
    this.#old.clear();
    this.#loading.clear();
    if (error.code !== "closed") this.#listen(collection);
  }

  async #load(cluster: ClusterName, events: Loading<State>["events"]): Promise<State> {
    const { hub, collections, create, note } = this.#options;
    if (await this.#isEmpty(cluster)) {
      if (this.#loading.get(cluster)?.events === events) this.#keep(cluster, this.#nothing);
      return this.#nothing;
    }
    let isNothing = true;
    const loaded = create();
    const take = (key: StorageKey, entry: Entry | undefined) => {
      isNothing = false;
      note(loaded, key, entry);
    };
    const revisions = await Promise.all(
      collections.map((collection) => this.#read(cluster, collection, take)),
    );
    const newest = Math.max(...revisions) as Revision;
    if (!(await isContinuous(hub.reach(newest, neverAborted)))) return this.load(cluster);
    for (const { collection, event } of events) {
      const revision = revisions[collections.indexOf(collection)] as Revision;
      if (event.revision > revision) take(event.key, event.current);
    }
    const state = isNothing ? this.#nothing : loaded;
    // Kept in the turn in which it caught up, so that no event comes in between. What was lost meanwhile is loaded again by whoever asks next.
    if (this.#loading.get(cluster)?.events === events) this.#keep(cluster, state);
    return state;
  }

  /** Everything acknowledged before the question counts. */
  async #isEmpty(cluster: ClusterName): Promise<boolean> {
    const { storage, hub, collections, mayHave } = this.#options;
    if (mayHave === undefined) return false;
    const isUnused = () => !collections.some((collection) => mayHave(cluster, collection));
    if (!isUnused()) return false;
    const current = await storage.currentRevision({ signal: neverAborted });
    return (await isContinuous(hub.reach(current, neverAborted))) && isUnused();
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
