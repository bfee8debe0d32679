/**
 * Notifies tables with entries per logical cluster of deleted clusters, so that a deleted cluster
 * leaves no memory behind.
 *
 * The LogicalCluster is the last object of a cluster to be deleted. A late request may make a table
 * load the empty content again: so each table is notified once more, some time later.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  parseObjectKey,
  type ResourceKey,
  resourcePrefix,
  type StorageError,
  type StorageKey,
} from "../storage/index.ts";
import type { HubEvent } from "./hub-event.ts";
import type { HubListener, WatchHub } from "./watch-hub.ts";

type Forget = (cluster: ClusterName) => void;

export class ClusterDeletions implements HubListener {
  readonly #hub: Pick<WatchHub, "listen">;
  readonly #callbacks: Forget[] = [];
  /**
   * Clusters that were deleted since the last call of `repeatNotifications`, and those between the
   * two calls before.
   */
  #recent: ClusterName[] = [];
  #older: ClusterName[] = [];
  #prefix: StorageKey | undefined;

  constructor(hub: Pick<WatchHub, "listen">) {
    this.#hub = hub;
  }

  onDeleted(forget: Forget): void {
    this.#callbacks.push(forget);
  }

  /**
   * Sets the collection whose objects represent their clusters; without it, clusters are never
   * deleted.
   */
  follow(collection: ResourceKey): void {
    this.#prefix = resourcePrefix(collection);
    this.#hub.listen(this.#prefix, this);
  }

  onEvent({ key, current }: HubEvent): void {
    if (current !== undefined) return;
    const cluster = parseObjectKey(key).cluster;
    this.#recent.push(cluster);
    this.#notify([cluster]);
  }

  /** The tables drop their content themselves on a loss of continuity. */
  onLost(error: StorageError): void {
    this.#recent = [];
    this.#older = [];
    if (error.code !== "closed" && this.#prefix !== undefined) this.#hub.listen(this.#prefix, this);
  }

  /** The cluster has moved: what is known of it is not true here any more. */
  release(cluster: ClusterName): void {
    this.#recent.push(cluster);
    this.#notify([cluster]);
  }

  repeatNotifications(): void {
    this.#notify(this.#older);
    this.#older = this.#recent;
    this.#recent = [];
  }

  #notify(clusters: readonly ClusterName[]): void {
    for (const cluster of clusters) for (const forget of this.#callbacks) forget(cluster);
  }
}
