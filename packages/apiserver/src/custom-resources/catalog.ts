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
import type { CustomDefinition } from "./custom-definition.ts";
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
    const find = (definitions: ClusterDefinitions | undefined) =>
      definitions?.find(group, resource)?.version(version, index.conversion, definitions.cluster);
    const known = index.peek(cluster);
    const found = known?.named(group, resource)?.isReady === true ? find(known) : undefined;
    if (found !== undefined) return warmed(found);
    const findPrepared = async (definitions: ClusterDefinitions) => {
      await definitions.named(group, resource)?.prepare();
      return warmed(find(definitions));
    };
    return this.#upToDate(cluster).then(findPrepared);
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

  all(cluster: ClusterScope): MaybePromise<readonly ResourceDefinition[]> {
    const { builtIns } = this.#options;
    if (cluster === "*") return builtIns.all(cluster);
    return this.#upToDate(cluster).then(async (definitions) => {
      const { served } = await definitions.prepare();
      const others = await builtIns.all(cluster);
      return served.length === 0 ? others : this.#list(others, served);
    });
  }

  async #upToDate(cluster: Exclude<ClusterScope, "*">): Promise<ClusterDefinitions> {
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

/**
 * A definition that takes long to compile is compiled with yields to the event loop before it is
 * used.
 */
function warmed(
  definition: CustomDefinition | undefined,
): MaybePromise<CustomDefinition | undefined> {
  const warming = definition?.warmUp();
  return warming === undefined ? definition : warming.then(() => definition);
}
