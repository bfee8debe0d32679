/**
 * The catalog of a logical cluster: built-in kinds first, then the kinds of its
 * CustomResourceDefinitions.
 *
 * Built-in kinds, and definitions in memory, are found synchronously. Before the catalog reports
 * that a resource does not exist, it waits until this server has seen every acknowledged write.
 */
import { createHash } from "node:crypto";
import { InternPool, neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type {
  Catalog,
  CollectionKey,
  CollectionSource,
  ResourceDefinition,
} from "../registry/index.ts";
import type { MaybePromise } from "../request/api-request.ts";
import type { ClusterScope } from "../request/request-scope.ts";
import type { WatchCache } from "../watch-cache/index.ts";
import type { ClusterDefinitions, DefinitionIndex } from "./definition-index.ts";
import type { SharedVersion } from "./shared-version.ts";
import { wildcardPartialMetadataDefinition } from "./wildcard-partial-metadata.ts";

export interface CustomResourceCatalogOptions {
  readonly builtIns: Catalog & CollectionSource;
  readonly index: DefinitionIndex;
  readonly watchCache: WatchCache;
}

export class CustomResourceCatalog implements Catalog, CollectionSource {
  readonly #options: CustomResourceCatalogOptions;
  readonly #lists = new InternPool<readonly ResourceDefinition[]>();
  readonly #listed = new WeakMap<readonly ResourceDefinition[], readonly ResourceDefinition[]>();

  constructor(options: CustomResourceCatalogOptions) {
    this.#options = options;
  }

  find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): MaybePromise<ResourceDefinition | undefined> {
    const { builtIns, index } = this.#options;
    const builtIn = builtIns.find(cluster, group, version, resource);
    if (builtIn !== undefined) return builtIn;
    if (cluster === "*") return wildcardPartialMetadataDefinition(group, version, resource);
    const known = index.peek(cluster);
    const record = known?.named(group, resource);
    if (known !== undefined && record?.isReady === true) {
      const found = record.version(group, version, index.conversion, known.cluster);
      if (found !== undefined) return found.shared.warmUp()?.then(() => found) ?? found;
    }
    return this.#findPrepared(cluster, group, version, resource);
  }

  async #findPrepared(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined> {
    const definitions = await this.#upToDate(cluster);
    const record = definitions.named(group, resource);
    await record?.prepare();
    const { conversion } = this.#options.index;
    const found = record?.version(group, version, conversion, definitions.cluster);
    await found?.shared.warmUp();
    return found;
  }

  collectionOf(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
  ): CollectionKey | undefined {
    const { builtIns, index } = this.#options;
    const builtIn = builtIns.collectionOf(cluster, group, version, resource);
    if (builtIn !== undefined) return builtIn;
    const definitions = index.peekWithoutTouch(cluster);
    // While it is being read it has no objects that are in memory.
    if (definitions?.named(group, resource)?.isReady !== true) return undefined;
    const record = definitions.find(group, resource);
    return record && { group, resource, identity: record.uid };
  }

  async all(cluster: ClusterScope): Promise<readonly ResourceDefinition[]> {
    const { builtIns } = this.#options;
    if (cluster === "*") return builtIns.all(cluster);
    const { served } = await (await this.#upToDate(cluster)).prepare();
    const others = await builtIns.all(cluster);
    return served.length === 0 ? others : this.#list(others, served);
  }

  async #upToDate(cluster: ClusterName): Promise<ClusterDefinitions> {
    const { watchCache, index } = this.#options;
    await watchCache.waitUntilFresh({ kind: "latest" }, neverAborted);
    return index.load(cluster);
  }

  /**
   * Clusters with the same definitions share the list, and with it all documents that are built
   * from it.
   */
  #list(
    builtIns: readonly ResourceDefinition[],
    served: readonly ResourceDefinition[],
  ): readonly ResourceDefinition[] {
    const known = this.#listed.get(served);
    if (known !== undefined) return known;
    const hash = createHash("sha256").update(`${builtIns.length} `);
    for (const version of served as readonly SharedVersion[]) {
      const { content, isTerminating } = version.definition;
      hash.update(`${content}/${version.version}/${isTerminating} `);
    }
    const list = this.#lists.get(hash.digest("base64url"), () => [...builtIns, ...served]);
    this.#listed.set(served, list);
    return list;
  }
}
