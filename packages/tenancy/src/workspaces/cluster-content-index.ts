/**
 * Indexes the content of logical clusters that were empty when this server first saw them, so that
 * deleting such a cluster reads only existing objects. Listing an empty collection is expensive:
 * the store scans the deleted keys beside it.
 *
 * The index holds one trie node per cluster, for a bounded number of clusters; any other cluster
 * may contain everything.
 */
import { collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { copyString } from "@kcp-ts/apiserver/request/copy-string";
import {
  clusterPrefix,
  type ResourceKey,
  resourcePrefix,
  type StorageError,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import type { HubEvent, WatchHub } from "@kcp-ts/apiserver/watch-cache";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ContentTrie, type ContentTrieNode } from "./content-trie.ts";

/** About a hundred bytes each. */
const clustersMax = 50_000;

/** The key of an object that may exist. */
export interface ContentKey {
  readonly definition: ResourceDefinition;
  readonly key: StorageKey;
}

export class ClusterContentIndex {
  readonly #definitions: readonly ResourceDefinition[];
  /** Keyed by `<group>/<resource>/<identity>`. */
  readonly #numbers = new Map<string, number>();
  readonly #tree: ContentTrie;
  /** In order of creation, oldest first. */
  readonly #contentOf = new Map<ClusterName, ContentTrieNode>();
  /** The objects of clusters that are being deleted that were created since the deletion began. */
  readonly #addedDuringDeletion = new Map<ClusterName, ContentTrieNode>();

  constructor(hub: WatchHub, definitions: readonly ResourceDefinition[], tree = new ContentTrie()) {
    this.#definitions = definitions;
    this.#tree = tree;
    for (const [number, definition] of definitions.entries()) {
      this.#numbers.set(nameOf(collectionKeyOf(definition)), number);
      this.#listen(hub, definition, number);
    }
  }

  trackNewCluster(cluster: ClusterName): void {
    this.forget(cluster);
    this.#enter(this.#contentOf, copyString(cluster), this.#tree.root);
    if (this.#contentOf.size <= clustersMax) return;
    const [oldest] = this.#contentOf.keys();
    if (oldest !== undefined) this.forget(oldest);
  }

  /** Accurate up to the hub's revision. */
  mayContain(cluster: ClusterName, collection: ResourceKey): boolean {
    const node = this.#contentOf.get(cluster);
    if (node === undefined) return true;
    const number = this.#numbers.get(nameOf(collection));
    return number === undefined || node.has(number);
  }

  /**
   * All keys that were created up to the hub's revision, whether or not the objects still exist;
   * undefined when they are unknown.
   */
  keysIn(cluster: ClusterName): readonly ContentKey[] | undefined {
    return this.#contentOf
      .get(cluster)
      ?.entries()
      ?.map(({ collection, rest }) => {
        const definition = this.#definitions[collection] as ResourceDefinition;
        const prefix = clusterPrefix({ ...collectionKeyOf(definition), cluster });
        return { definition, key: `${prefix}${rest}` as StorageKey };
      });
  }

  /** From now on new keys are recorded separately. */
  beginDeletion(cluster: ClusterName): void {
    const node = this.#contentOf.get(cluster);
    if (node === undefined) return;
    this.#leave(this.#addedDuringDeletion, cluster);
    this.#enter(this.#addedDuringDeletion, copyString(cluster), this.#tree.root);
  }

  /**
   * With `isEmpty`, only the keys since the deletion began remain; otherwise they are added to the
   * earlier ones.
   */
  endDeletion(cluster: ClusterName, isEmpty: boolean): void {
    const since = this.#addedDuringDeletion.get(cluster);
    if (since === undefined) return;
    if (isEmpty && this.#contentOf.has(cluster)) this.#enter(this.#contentOf, cluster, since);
    this.#leave(this.#addedDuringDeletion, cluster);
  }

  /** The number of clusters with known content. */
  get size(): number {
    return this.#contentOf.size;
  }

  forget(cluster: ClusterName): void {
    this.#leave(this.#contentOf, cluster);
    this.#leave(this.#addedDuringDeletion, cluster);
  }

  #listen(hub: WatchHub, definition: ResourceDefinition, number: number): void {
    const prefix = resourcePrefix(collectionKeyOf(definition));
    hub.listen(prefix, {
      onEvent: ({ key, previous }: HubEvent) => {
        // The key of an existing object was recorded at its creation.
        if (previous !== undefined || this.#contentOf.size === 0) return;
        const end = key.indexOf("/", prefix.length);
        const cluster = key.slice(prefix.length, end) as ClusterName;
        if (this.#contentOf.has(cluster))
          this.#note(this.#contentOf, cluster, number, key.slice(end + 1));
        if (this.#addedDuringDeletion.has(cluster))
          this.#note(this.#addedDuringDeletion, cluster, number, key.slice(end + 1));
      },
      onLost: (error: StorageError) => {
        for (const known of [...this.#contentOf.keys()]) this.forget(known);
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
    const after = this.#tree.acquireChild(before, number, copyString(rest));
    if (after === undefined) {
      this.forget(cluster);
      return;
    }
    outlines.set(cluster, after);
    this.#tree.release(before);
  }

  #enter(
    outlines: Map<ClusterName, ContentTrieNode>,
    cluster: ClusterName,
    node: ContentTrieNode,
  ): void {
    node.references++;
    this.#leave(outlines, cluster);
    outlines.set(cluster, node);
  }

  #leave(outlines: Map<ClusterName, ContentTrieNode>, cluster: ClusterName): void {
    const node = outlines.get(cluster);
    if (node === undefined) return;
    outlines.delete(cluster);
    this.#tree.release(node);
  }
}

function nameOf({ group, resource, identity }: ResourceKey): string {
  return `${group}/${resource}/${identity}`;
}
