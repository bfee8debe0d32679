/** The room put together: what the server starts and stops, and what others ask about Partitions. */

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
import { KeyedWorkQueue, member, shards, uncancelled } from "../workspaces/index.ts";
import { listAllEntries } from "./every-entry.ts";
import { partitionSets, partitions } from "./kinds.ts";
import { owningPartitionSet, reconcilePartitionSet } from "./partition-sets.ts";

export interface TopologyOptions {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** A job that is about no single one. No key of an object looks like it. */
const everySet = "" as StorageKey;
/** Each look lists the Partitions of a logical cluster: few at a time. */
const looksAtOnce = 4;

export class Topology {
  /** Served in every logical cluster. */
  static readonly resources: readonly ResourceDefinition[] = [partitions, partitionSets];
  readonly #options: TopologyOptions;
  readonly #jobs: KeyedWorkQueue<StorageKey>;

  constructor(options: TopologyOptions) {
    this.#options = options;
    const { clock, onError } = options;
    const parts = { ...options, now: () => clock.now() };
    this.#jobs = new KeyedWorkQueue<StorageKey>({
      ...{ clock, onError, concurrency: looksAtOnce },
      work: async (key) => {
        if (key !== everySet) return reconcilePartitionSet(parts, key);
        await this.#lookAtAll();
        return undefined;
      },
    });
  }

  /** The hub must be open. */
  start(): void {
    const lookAtAll = () => this.#jobs.add(everySet);
    this.#follow(shards, lookAtAll);
    this.#follow(partitionSets, ({ key, current }) => {
      if (current !== undefined) this.#jobs.add(key);
    });
    this.#follow(partitions, (event) => this.#onPartition(event));
    // What an earlier run left unfinished is taken up.
    lookAtAll();
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  /** Which shards are in a Partition; undefined when there is none of the name. */
  async selectorOf(cluster: ClusterName, name: string): Promise<LabelSelectorObject | undefined> {
    const key = objectKey({ ...collectionKeyOf(partitions), cluster, namespace: "", name });
    const entry = await this.#options.watchCache.get(key, { kind: "latest" }, uncancelled);
    if (entry === undefined) return undefined;
    const { selector } = member(decodeObject(entry), "spec");
    return isJsonObject(selector) ? (selector as LabelSelectorObject) : {};
  }

  /** One that somebody changed, or took away, is made again as it was. */
  #onPartition({ key, current, previous }: HubEvent): void {
    const entry = current ?? previous;
    const set = entry && owningPartitionSet({ key }, decodeObject(entry));
    if (set !== undefined) this.#jobs.add(set);
  }

  async #lookAtAll(): Promise<void> {
    const all = resourcePrefix(collectionKeyOf(partitionSets));
    for await (const { key } of listAllEntries(this.#options.storage, all)) this.#jobs.add(key);
  }

  #follow(definition: ResourceDefinition, onEvent: (event: HubEvent) => void): void {
    this.#options.watchCache.hub.listen(resourcePrefix(collectionKeyOf(definition)), {
      onEvent,
      onLost: ({ code }) => {
        if (code === "closed") return;
        this.#follow(definition, onEvent);
        this.#jobs.add(everySet);
      },
    });
  }
}
