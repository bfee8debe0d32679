/**
 * Composes topology: the server starts and stops it, and other components query Partitions through
 * it.
 */
import {
  collectionKeyOf,
  type Registry,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import {
  objectKey,
  resourcePrefix,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent, WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import { followReplicas, type Replicas } from "../replicas/index.ts";
import { KeyedWorkQueue, member, shards, uncancelled } from "../workspaces/index.ts";
import { partitionSets, partitions } from "./kinds.ts";
import { listAllEntries } from "./list-all-entries.ts";
import { owningPartitionSet, reconcilePartitionSet } from "./partition-sets.ts";

export interface TopologyOptions {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  /** The objects of other shards; undefined for the only shard. */
  readonly replicas?: Replicas | undefined;
  readonly onError: (error: unknown) => void;
}

/** The queue item that reconciles all sets. No object has this key. */
const everySet = "" as StorageKey;
/** Each reconcile lists the Partitions of a logical cluster, so the concurrency is small. */
const looksAtOnce = 4;

export class Topology {
  /** Resources that are served in every logical cluster. */
  static readonly resources: readonly ResourceDefinition[] = [partitions, partitionSets];
  readonly #options: TopologyOptions;
  readonly #jobs: KeyedWorkQueue<StorageKey>;

  constructor(options: TopologyOptions) {
    this.#options = options;
    const { clock, onError } = options;
    const parts = { ...options, now: () => clock.now() };
    this.#jobs = new KeyedWorkQueue<StorageKey>({
      clock,
      onError,
      concurrency: looksAtOnce,
      work: async (key) => {
        if (key !== everySet) return reconcilePartitionSet(parts, key);
        await this.#requeueAll();
        return undefined;
      },
    });
  }

  /** The hub must be open. */
  start(): void {
    const lookAtAll = () => this.#jobs.add(everySet);
    this.#watchShards(shards, lookAtAll);
    if (this.#options.replicas !== undefined)
      followReplicas(this.#options.watchCache.hub, shards, lookAtAll);
    this.#watchShards(partitionSets, ({ key, current }) => {
      if (current !== undefined) this.#jobs.add(key);
    });
    this.#watchShards(partitions, (event) => this.#onPartition(event));
    // Resumes the work that an earlier process left unfinished.
    lookAtAll();
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  /** The shard selector of a Partition; undefined when the Partition does not exist. */
  async selectorOf(cluster: ClusterName, name: string): Promise<LabelSelectorObject | undefined> {
    const key = objectKey({ ...collectionKeyOf(partitions), cluster, namespace: "", name });
    const entry = await this.#options.watchCache.get(key, { kind: "latest" }, uncancelled);
    if (entry === undefined) return undefined;
    const { selector } = member(decodeObject(entry), "spec");
    return isJsonObject(selector) ? (selector as LabelSelectorObject) : {};
  }

  /** Requeues the owner of a Partition that was changed or deleted, which restores it. */
  #onPartition({ key, current, previous }: HubEvent): void {
    const entry = current ?? previous;
    const set = entry && owningPartitionSet({ key }, decodeObject(entry));
    if (set !== undefined) this.#jobs.add(set);
  }

  async #requeueAll(): Promise<void> {
    const all = resourcePrefix(collectionKeyOf(partitionSets));
    for await (const { key } of listAllEntries(this.#options.storage, all)) this.#jobs.add(key);
  }

  #watchShards(definition: ResourceDefinition, onEvent: (event: HubEvent) => void): void {
    this.#options.watchCache.hub.listen(resourcePrefix(collectionKeyOf(definition)), {
      onEvent,
      onLost: ({ code }) => {
        if (code === "closed") return;
        this.#watchShards(definition, onEvent);
        this.#jobs.add(everySet);
      },
    });
  }
}
