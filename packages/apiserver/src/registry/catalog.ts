/**
 * Which resources a logical cluster serves. Built-ins are the same everywhere and cost nothing per cluster.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../request/api-request.ts";
import type { ClusterScope } from "../request/request-scope.ts";
import { type CollectionKey, collectionKeyOf, type ResourceDefinition } from "./definition.ts";

export interface Catalog {
  /** The resource under this name, or undefined when the cluster does not serve it. */
  find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): MaybePromise<ResourceDefinition | undefined>;

  /** Everything the cluster serves, in discovery order: groups by priority, the preferred version first. */
  all(cluster: ClusterScope): MaybePromise<readonly ResourceDefinition[]>;

  /** What discovery says of a resource, where that is not what its definition says; the aggregated form is not served then. */
  readonly entriesOf?: (definition: ResourceDefinition) => readonly JsonObject[];
}

/** Where objects are stored, as far as that is in memory: who asks loads nothing, and need not be somebody who may. */
export interface CollectionSource {
  collectionOf(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
  ): CollectionKey | undefined;
}

export class BuiltInCatalog implements Catalog, CollectionSource {
  readonly #definitions: readonly ResourceDefinition[];
  readonly #inRoot: readonly ResourceDefinition[];
  readonly #byName: ReadonlyMap<string, ResourceDefinition>;
  readonly #inRootByName: ReadonlyMap<string, ResourceDefinition>;

  /** `rootOnly` are served in the logical cluster root and, all together, to those who may read all clusters. */
  constructor(
    definitions: readonly ResourceDefinition[],
    rootOnly: readonly ResourceDefinition[] = [],
  ) {
    this.#definitions = definitions;
    this.#inRoot = rootOnly.length === 0 ? definitions : [...definitions, ...rootOnly];
    this.#byName = byName(definitions);
    this.#inRootByName = byName(rootOnly);
  }

  find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): ResourceDefinition | undefined {
    const name = `${group}/${version}/${resource}`;
    const found = this.#byName.get(name);
    if (found !== undefined || !isRoot(cluster)) return found;
    return this.#inRootByName.get(name);
  }

  collectionOf(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
  ): CollectionKey | undefined {
    const found = this.find(cluster, group, version, resource);
    return found && collectionKeyOf(found);
  }

  all(cluster: ClusterScope): readonly ResourceDefinition[] {
    return isRoot(cluster) ? this.#inRoot : this.#definitions;
  }
}

/** A resource that is served wherever another one is. */
export interface VirtualResource {
  readonly definition: ResourceDefinition;
  readonly beside: Pick<ResourceDefinition, "group" | "version" | "resource">;
}

/** A catalog with what is served beside some of it. What a logical cluster defines itself under such a name comes first. */
export class VirtualResourceCatalog implements Catalog, CollectionSource {
  readonly #inner: Catalog & CollectionSource;
  readonly #besides: ReadonlyMap<string, VirtualResource>;

  constructor(inner: Catalog & CollectionSource, besides: readonly VirtualResource[]) {
    this.#inner = inner;
    this.#besides = new Map(besides.map((one) => [nameOf(one.definition), one]));
  }

  find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): MaybePromise<ResourceDefinition | undefined> {
    const own = this.#inner.find(cluster, group, version, resource);
    const known = this.#besides.get(nameOf({ group, version, resource }));
    if (known === undefined || cluster === "*") return own;
    return own instanceof Promise
      ? own.then((found) => found ?? this.#beside(cluster, known))
      : (own ?? this.#beside(cluster, known));
  }

  /** What is served beside others is computed. */
  collectionOf(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
  ): CollectionKey | undefined {
    return this.#inner.collectionOf(cluster, group, version, resource);
  }

  async all(cluster: ClusterScope): Promise<readonly ResourceDefinition[]> {
    const all = await this.#inner.all(cluster);
    if (cluster === "*") return all;
    const names = new Set(all.map(nameOf));
    const further = [...this.#besides.values()].filter(
      ({ definition, beside }) => names.has(nameOf(beside)) && !names.has(nameOf(definition)),
    );
    return further.length === 0 ? all : [...all, ...further.map(({ definition }) => definition)];
  }

  async #beside(cluster: ClusterScope, { definition, beside }: VirtualResource) {
    const { group, version, resource } = beside;
    const found = await this.#inner.find(cluster, group, version, resource);
    return found && definition;
  }
}

function nameOf({
  group,
  version,
  resource,
}: Pick<ResourceDefinition, "group" | "version" | "resource">): string {
  return `${group}/${version}/${resource}`;
}

function isRoot(cluster: ClusterScope): boolean {
  return cluster === rootCluster || cluster === "*";
}

function byName(
  definitions: readonly ResourceDefinition[],
): ReadonlyMap<string, ResourceDefinition> {
  return new Map(
    definitions.map((definition) => [
      `${definition.group}/${definition.version}/${definition.resource}`,
      definition,
    ]),
  );
}
