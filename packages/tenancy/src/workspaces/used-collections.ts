/**
 * What logical clusters hold that were empty when this server first heard of them: so that emptying one again goes to what is there and looks nowhere else.
 * A look into an empty collection is dear: the store reads through what was deleted beside it.
 *
 * A place in a tree per cluster, of a bounded number of clusters; of all others everything is assumed.
 */

import { collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { copyString } from "@kcp-ts/apiserver/request/own-text";
import {
  clusterPrefix,
  type ResourceKey,
  resourcePrefix,
  type StorageError,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import type { HubEvent, WatchHub } from "@kcp-ts/apiserver/watch-cache";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ContentTrie, type ContentTrieNode } from "./outline.ts";

/** About a hundred bytes each. */
const clustersMax = 50_000;

/** An object that may be there. */
export interface ContentKey {
  readonly definition: ResourceDefinition;
  readonly key: StorageKey;
}

export class ClusterContentIndex {
  readonly #definitions: readonly ResourceDefinition[];
  /** By `<group>/<resource>/<identity>`. */
  readonly #numbers = new Map<string, number>();
  readonly #tree: ContentTrie;
  /** In order of their beginning, oldest first. */
  readonly #used = new Map<ClusterName, ContentTrieNode>();
  /** Of clusters that are being emptied: what has come since that began. */
  readonly #since = new Map<ClusterName, ContentTrieNode>();

  constructor(hub: WatchHub, definitions: readonly ResourceDefinition[], tree = new ContentTrie()) {
    this.#definitions = definitions;
    this.#tree = tree;
    for (const [number, definition] of definitions.entries()) {
      this.#numbers.set(nameOf(collectionKeyOf(definition)), number);
      this.#listen(hub, definition, number);
    }
  }

  begins(cluster: ClusterName): void {
    this.forget(cluster);
    this.#enter(this.#used, copyString(cluster), this.#tree.root);
    if (this.#used.size <= clustersMax) return;
    const [oldest] = this.#used.keys();
    if (oldest !== undefined) this.forget(oldest);
  }

  /** As far as the hub has come. */
  mayHave(cluster: ClusterName, collection: ResourceKey): boolean {
    const outline = this.#used.get(cluster);
    if (outline === undefined) return true;
    const number = this.#numbers.get(nameOf(collection));
    return number === undefined || outline.has(number);
  }

  /** All that has been put there as far as the hub has come, whether or not it is still there; undefined when that is not known. */
  keysIn(cluster: ClusterName): readonly ContentKey[] | undefined {
    return this.#used
      .get(cluster)
      ?.members()
      ?.map(({ collection, rest }) => {
        const definition = this.#definitions[collection] as ResourceDefinition;
        const prefix = clusterPrefix({ ...collectionKeyOf(definition), cluster });
        return { definition, key: `${prefix}${rest}` as StorageKey };
      });
  }

  /** From now on it is noted apart what comes. */
  beginEmptying(cluster: ClusterName): void {
    const outline = this.#used.get(cluster);
    if (outline === undefined) return;
    this.#leave(this.#since, cluster);
    this.#enter(this.#since, copyString(cluster), this.#tree.root);
  }

  /** All that was there has gone, or nobody knows: what came since is all there is, or is no more than the rest of it. */
  endEmptying(cluster: ClusterName, isEmpty: boolean): void {
    const since = this.#since.get(cluster);
    if (since === undefined) return;
    if (isEmpty && this.#used.has(cluster)) this.#enter(this.#used, cluster, since);
    this.#leave(this.#since, cluster);
  }

  /** Clusters of which it is known. */
  get size(): number {
    return this.#used.size;
  }

  forget(cluster: ClusterName): void {
    this.#leave(this.#used, cluster);
    this.#leave(this.#since, cluster);
  }

  #listen(hub: WatchHub, definition: ResourceDefinition, number: number): void {
    const prefix = resourcePrefix(collectionKeyOf(definition));
    hub.listen(prefix, {
      onEvent: ({ key, previous }: HubEvent) => {
        // What was there before was noted when it came.
        if (previous !== undefined || this.#used.size === 0) return;
        const end = key.indexOf("/", prefix.length);
        const cluster = key.slice(prefix.length, end) as ClusterName;
        if (this.#used.has(cluster)) this.#note(this.#used, cluster, number, key.slice(end + 1));
        if (this.#since.has(cluster)) this.#note(this.#since, cluster, number, key.slice(end + 1));
      },
      onLost: (error: StorageError) => {
        for (const known of [...this.#used.keys()]) this.forget(known);
        if (error.code !== "closed") this.#listen(hub, definition, number);
      },
    });
  }

  #note(
    outlines: Map<ClusterName, ContentTrieNode>,
    cluster: ClusterName,
    number: number,
    rest: string,
  ): void {
    const before = outlines.get(cluster) as ContentTrieNode;
    if (before.has(number, rest)) return;
    const after = this.#tree.enter(before, number, copyString(rest));
    if (after === undefined) {
      this.forget(cluster);
      return;
    }
    outlines.set(cluster, after);
    this.#tree.leave(before);
  }

  #enter(
    outlines: Map<ClusterName, ContentTrieNode>,
    cluster: ClusterName,
    outline: ContentTrieNode,
  ): void {
    outline.uses++;
    this.#leave(outlines, cluster);
    outlines.set(cluster, outline);
  }

  #leave(outlines: Map<ClusterName, ContentTrieNode>, cluster: ClusterName): void {
    const outline = outlines.get(cluster);
    if (outline === undefined) return;
    outlines.delete(cluster);
    this.#tree.leave(outline);
  }
}

function nameOf({ group, resource, identity }: ResourceKey): string {
  return `${group}/${resource}/${identity}`;
}
