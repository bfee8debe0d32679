/**
 * What a logical cluster serves: built-in kinds first, then what it has defined itself.
 *
 * Built-ins are answered at once, and so are definitions that are in memory. Before anything is said not to exist, this server makes sure
 * that it knows of everything that was acknowledged anywhere.
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
import { wildcardPartialMetadataDefinition } from "./any-owners.ts";
import type { CustomDefinition } from "./custom-definition.ts";
import type { ClusterDefinitions, DefinitionIndex } from "./definition-index.ts";
import type { SharedVersion } from "./shared-version.ts";

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
    const found = find(index.peek(cluster));
    if (found === undefined) return this.#upToDate(cluster).then(find).then(warmed);
    return warmed(found);
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
    const record = index.look(cluster)?.find(group, resource);
    return record && { group, resource, identity: record.uid };
  }

  all(cluster: ClusterScope): MaybePromise<readonly ResourceDefinition[]> {
    const { builtIns } = this.#options;
    if (cluster === "*") return builtIns.all(cluster);
    return this.#upToDate(cluster).then(async ({ served }) =>
      served.length === 0 ? builtIns.all(cluster) : this.#list(await builtIns.all(cluster), served),
    );
  }

  async #upToDate(cluster: Exclude<ClusterScope, "*">): Promise<ClusterDefinitions> {
    const { watchCache, index } = this.#options;
    await watchCache.catchUp({ kind: "latest" }, neverAborted);
    return index.load(cluster);
  }

  /** Clusters that serve the same share the list, and with it all documents that are made from it. */
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

/** A definition that takes long to make ready is made ready in pieces before it is used. */
function warmed(
  definition: CustomDefinition | undefined,
): MaybePromise<CustomDefinition | undefined> {
  const warming = definition?.warmUp();
  return warming === undefined ? definition : warming.then(() => definition);
}
