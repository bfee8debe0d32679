/**
 * Which collections a logical cluster has put anything into, of clusters that were empty when this server first heard of them: so that emptying
 * one again looks where something can be and not everywhere.
 *
 * A number per cluster, of a bounded number of clusters; of all others everything is assumed.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { collectionKeyOf, type ResourceDefinition } from "../registry/index.ts";
import { ownText } from "../request/own-text.ts";
import {
  parseObjectKey,
  type ResourceKey,
  resourcePrefix,
  type StorageError,
} from "../storage/index.ts";
import type { HubEvent, WatchHub } from "../watch-cache/index.ts";

/** About a hundred bytes each. */
const clustersMax = 50_000;
/** Bits of an integer: collections beyond these are always looked at. */
const bitsMax = 32;

export class UsedCollections {
  /** In order of their beginning, oldest first. */
  readonly #used = new Map<ClusterName, number>();
  /** By `<group>/<resource>/<identity>`. */
  readonly #bits = new Map<string, number>();

  constructor(hub: WatchHub, definitions: readonly ResourceDefinition[]) {
    for (const [index, definition] of definitions.slice(0, bitsMax).entries()) {
      this.#bits.set(nameOf(collectionKeyOf(definition)), 1 << index);
      this.#listen(hub, definition, 1 << index);
    }
  }

  begins(cluster: ClusterName): void {
    this.#used.set(ownText(cluster), 0);
    if (this.#used.size <= clustersMax) return;
    const [oldest] = this.#used.keys();
    if (oldest !== undefined) this.#used.delete(oldest);
  }

  /** As far as the hub has come. */
  mayHave(cluster: ClusterName, collection: ResourceKey): boolean {
    const used = this.#used.get(cluster);
    if (used === undefined) return true;
    const bit = this.#bits.get(nameOf(collection));
    return bit === undefined || (used & bit) !== 0;
  }

  /** Clusters of which it is known. */
  get size(): number {
    return this.#used.size;
  }

  forget(cluster: ClusterName): void {
    this.#used.delete(cluster);
  }

  #listen(hub: WatchHub, definition: ResourceDefinition, bit: number): void {
    hub.listen(resourcePrefix(collectionKeyOf(definition)), {
      onEvent: ({ key }: HubEvent) => {
        if (this.#used.size === 0) return;
        const { cluster } = parseObjectKey(key);
        const used = this.#used.get(cluster);
        if (used !== undefined) this.#used.set(cluster, used | bit);
      },
      onLost: (error: StorageError) => {
        this.#used.clear();
        if (error.code !== "closed") this.#listen(hub, definition, bit);
      },
    });
  }
}

function nameOf({ group, resource, identity }: ResourceKey): string {
  return `${group}/${resource}/${identity}`;
}
