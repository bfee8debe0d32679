/**
 * Replicas: objects of other shards that this shard uses, pulled on first use and kept in the own
 * store, so that it works and starts while the other shards are down.
 *
 *     pull ──► feed of the kind in the logical cluster ──► replica in the store ──► hub ──► indexes
 *
 * The logical cluster of a replica is the one that was asked for, on the shard that the routes
 * name: nothing that a shard answers says whose object it is.
 */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { Entry, Storage, StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import { listEntries } from "./list-entries.ts";
import type { OtherShards } from "./other-shards.ts";
import { ReplicaFeed } from "./replica-feed.ts";
import { asOriginal, replicaPrefix } from "./replica-key.ts";
import { ReplicaStore, replicaStateOf } from "./replica-store.ts";
import { SchemaContents } from "./schema-contents.ts";
import { ShardReader } from "./shard-reader.ts";

export interface ReplicasOptions {
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly others: OtherShards;
  /** The kinds of which there are replicas. */
  readonly definitions: readonly ResourceDefinition[];
  /** The kind whose content is stored by its hash. */
  readonly schemas: ResourceDefinition;
  /** Where copies of schemas are stored that bindings use; they may share their content. */
  readonly schemaCopies: StorageKey;
  /** The kinds of the logical cluster of which every object is wanted. */
  readonly complete: readonly {
    readonly definition: ResourceDefinition;
    readonly cluster: ClusterName;
  }[];
  /** Whether something refers to an object for as long as it exists. */
  readonly isNeeded: (
    definition: ResourceDefinition,
    cluster: ClusterName,
    name: string,
  ) => boolean;
  readonly onError: (error: unknown) => void;
}

type ReplicatedKind = Pick<ResourceDefinition, "group" | "resource">;

/** What nobody used for a week is forgotten, while the other shard could give it again. */
export const unusedMs = 7 * 24 * 60 * 60_000;
/** Names of objects that do not exist. */
const absentMs = 10 * 60_000;
const sweepMs = 10 * 60_000;
/** Wanted names of all feeds: a few hundred bytes each, and a read at each lost watch. */
export const wantedMax = 50_000;

export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #reader: ShardReader;
  readonly #store: ReplicaStore;
  readonly contents: SchemaContents;
  readonly #feeds = new Map<ResourceDefinition, Map<ClusterName, ReplicaFeed>>();
  /** The paths of logical clusters with replicas, as their objects say. */
  readonly #paths = new Map<string, ClusterName>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#reader = new ShardReader(options);
    this.contents = new SchemaContents(options.storage, options.schemas);
    this.#store = new ReplicaStore({
      ...options,
      fold: async (definition, cluster, object) => {
        this.#notePath(cluster, object);
        return definition === options.schemas ? this.contents.fold(object) : object;
      },
    });
    for (const definition of options.definitions) this.#feeds.set(definition, new Map());
  }

  /** The own shard's name. */
  get ownName(): string {
    return this.#options.others.ownName;
  }

  get others(): OtherShards {
    return this.#options.others;
  }

  get reader(): ShardReader {
    return this.#reader;
  }

  /** Continues the feeds of an earlier process. It waits for no other shard. */
  async start(): Promise<void> {
    for (const definition of this.#options.definitions) {
      for await (const { cluster, name, object } of this.#store.all(definition)) {
        this.#notePath(cluster, object);
        this.#feedOf(definition, cluster).restore(name, replicaStateOf(object).position);
      }
      for (const feed of this.#feeds.get(definition)?.values() ?? []) feed.start();
    }
    for (const { definition, cluster } of this.#options.complete)
      if (this.shardOf(cluster) !== undefined) this.#feedOf(definition, cluster).start();
    this.#scheduleSweep();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await Promise.all([...this.#allFeeds()].map((feed) => feed.stop()));
  }

  /** The shard that has a logical cluster; undefined: this one. */
  shardOf(cluster: ClusterName): string | undefined {
    return cluster.startsWith("system:") ? undefined : this.#options.others.shardOf(cluster);
  }

  /** The logical cluster of a path, as far as its objects are here. */
  clusterAt(path: string): ClusterName | undefined {
    return this.#paths.get(path);
  }

  /**
   * Reads an object of another shard, unless it is here or does not exist. Throws when that is
   * unknown because the shard does not answer.
   */
  async pull(definition: ResourceDefinition, cluster: ClusterName, name: string): Promise<void> {
    const shard = this.shardOf(cluster);
    if (shard === undefined || this.#isStopped) return;
    const feed = this.#feedOf(definition, cluster);
    try {
      await feed.want(name);
    } catch (error) {
      if (!isStatusError(error, "ServiceUnavailable")) throw error;
      throw statusError.unavailable(
        `${definition.kind} ${name} of logical cluster ${cluster} is not known on shard ${this.#options.others.ownName} yet, and shard ${shard}, which has it, does not answer: try again later`,
      );
    }
  }

  /** The replica as if the original were stored here; pulled if it is wanted for the first time. */
  async get(
    definition: ResourceDefinition,
    cluster: ClusterName,
    name: string,
  ): Promise<Entry | undefined> {
    await this.pull(definition, cluster, name);
    const entry = await this.#store.get(definition, cluster, name);
    return entry && asOriginal(definition, entry);
  }

  /** The complete schema. */
  async schema(cluster: ClusterName, name: string): Promise<JsonObject | undefined> {
    const entry = await this.get(this.#options.schemas, cluster, name);
    return entry && this.contents.unfold(decodeObject(entry));
  }

  /** Marks a replica on this shard alone. */
  mark(definition: ResourceDefinition, cluster: ClusterName, name: string): Promise<void> {
    return this.#store.mark(definition, cluster, name);
  }

  /** Keeps whether all users with credentials have a verb on an original. */
  async noteEverybody(
    kind: ReplicatedKind,
    cluster: ClusterName,
    name: string,
    said: { readonly verb: string; readonly allowed: boolean },
  ): Promise<void> {
    const definition = this.#definitionOf(kind);
    if (definition === undefined) return;
    // A permission is asked for before the object is read.
    await this.pull(definition, cluster, name);
    await this.#store.noteEverybody(definition, cluster, name, said);
  }

  /** The verbs that everybody with credentials has on an original, as far as this shard knows. */
  async everybodyMay(
    kind: ReplicatedKind,
    cluster: ClusterName,
    name: string,
  ): Promise<readonly string[]> {
    const definition = this.#definitionOf(kind);
    const entry = definition && (await this.#store.get(definition, cluster, name));
    return entry === undefined ? [] : replicaStateOf(decodeObject(entry)).everybodyMay;
  }

  #definitionOf({ group, resource }: ReplicatedKind): ResourceDefinition | undefined {
    return this.#options.definitions.find(
      (one) => one.group === group && one.resource === resource,
    );
  }

  /** The number of wanted names. */
  get size(): number {
    let size = 0;
    for (const feed of this.#allFeeds()) size += feed.size;
    return size;
  }

  /** Forgets what is unused. */
  async sweep(): Promise<void> {
    const now = this.#options.clock.monotonic();
    const since = { here: now - unusedMs, absent: now - absentMs };
    for (const [definition, feeds] of this.#feeds) {
      for (const [cluster, feed] of feeds) {
        // Of a logical cluster that has moved here, the originals are here.
        if (this.shardOf(cluster) === undefined) await feed.forgetAll();
        else
          await feed.forgetUnused(since, (name) =>
            this.#options.isNeeded(definition, cluster, name),
          );
        if (feed.size > 0 || this.#isComplete(definition, cluster)) continue;
        feeds.delete(cluster);
        await feed.stop();
      }
    }
    await this.contents.removeUnused(() => this.#usedContents());
  }

  #notePath(cluster: ClusterName, { metadata }: JsonObject): void {
    const { annotations } = isJsonObject(metadata) ? metadata : {};
    const path = isJsonObject(annotations) ? textOf(annotations["kcp.io/path"]) : "";
    if (path !== "" && path !== cluster) this.#paths.set(path, cluster);
  }

  async #usedContents(): Promise<ReadonlySet<string>> {
    const { storage, schemas, schemaCopies } = this.#options;
    const used = new Set<string>();
    for (const prefix of [replicaPrefix(schemas), schemaCopies])
      for await (const entry of listEntries(storage, prefix))
        used.add(textOf(decodeObject(entry)["contentHash"]));
    return used;
  }

  *#allFeeds(): Generator<ReplicaFeed> {
    for (const feeds of this.#feeds.values()) yield* feeds.values();
  }

  #feedOf(definition: ResourceDefinition, cluster: ClusterName): ReplicaFeed {
    const feeds = this.#feeds.get(definition);
    if (feeds === undefined) throw new Error(`there are no replicas of ${definition.resource}`);
    let feed = feeds.get(cluster);
    if (feed === undefined) {
      if (this.size >= wantedMax)
        throw statusError.unavailable("too many objects of other shards are in use on this shard");
      feed = new ReplicaFeed({
        ...this.#options,
        definition,
        cluster,
        isComplete: this.#isComplete(definition, cluster),
        reader: this.#reader,
        store: this.#store,
      });
      feeds.set(cluster, feed);
    }
    return feed;
  }

  #isComplete(definition: ResourceDefinition, cluster: ClusterName): boolean {
    return this.#options.complete.some(
      (one) => one.definition === definition && one.cluster === cluster,
    );
  }

  #scheduleSweep(): void {
    this.#timer = this.#options.clock.schedule(sweepMs, () => {
      this.sweep()
        .catch(this.#options.onError)
        .finally(() => {
          if (!this.#isStopped) this.#scheduleSweep();
        });
    });
  }
}
