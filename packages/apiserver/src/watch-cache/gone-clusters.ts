/**
 * Tells tables that are kept by logical cluster which clusters are no more, so that a deleted cluster leaves nothing behind in memory.
 *
 * An object that stands for its cluster is the last thing to go of it. Whoever was late with a question may have had a table load what is left, which
 * is nothing: so each table is told once more, some time later.
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
  readonly #tables: Forget[] = [];
  /** Since the last call of `tidy`, and between the two before it. */
  #recent: ClusterName[] = [];
  #older: ClusterName[] = [];
  #prefix: StorageKey | undefined;

  constructor(hub: Pick<WatchHub, "listen">) {
    this.#hub = hub;
  }

  tell(forget: Forget): void {
    this.#tables.push(forget);
  }

  /** Names the collection whose objects stand for their clusters; where there is none, clusters stay. */
  follow(collection: ResourceKey): void {
    this.#prefix = resourcePrefix(collection);
    this.#hub.listen(this.#prefix, this);
  }

  onEvent({ key, current }: HubEvent): void {
    if (current !== undefined) return;
    const cluster = parseObjectKey(key).cluster;
    this.#recent.push(cluster);
    this.#forget([cluster]);
  }

  /** Whoever keeps a table empties it then. */
  onLost(error: StorageError): void {
    this.#recent = [];
    this.#older = [];
    if (error.code !== "closed" && this.#prefix !== undefined) this.#hub.listen(this.#prefix, this);
  }

  tidy(): void {
    this.#forget(this.#older);
    this.#older = this.#recent;
    this.#recent = [];
  }

  #forget(clusters: readonly ClusterName[]): void {
    for (const cluster of clusters) for (const forget of this.#tables) forget(cluster);
  }
}
