/**
 * The resources that a logical cluster serves. Built-ins are the same everywhere and cost nothing
 * per cluster.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../request/api-request.ts";
import type { ClusterScope } from "../request/request-scope.ts";
import {
  type CollectionKey,
  collectionKeyOf,
  type ResourceDefinition,
} from "./resource-definition.ts";

export interface Catalog {
  /** The resource with this name, or undefined when the cluster does not serve it. */
  find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): MaybePromise<ResourceDefinition | undefined>;

  /** All served resources, in discovery order: groups by priority, the preferred version first. */
  all(cluster: ClusterScope): Promise<readonly ResourceDefinition[]>;

  /**
   * The discovery entries of a resource, where they differ from its definition; aggregated
   * discovery is not served then.
   */
  readonly discoveryEntriesOf?: (definition: ResourceDefinition) => readonly JsonObject[];
}

/**
 * The storage prefixes of resources, as far as they are in memory: a lookup loads nothing, and
 * needs no authorization.
 */
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

  /**
   * `rootOnly` resources are served in the logical cluster root and, all together, to users with
   * access to all clusters.
   */
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
    if (found !== undefined) return found;
    return cluster === rootCluster || cluster === "*" ? this.#inRootByName.get(name) : undefined;
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

  async all(cluster: ClusterScope): Promise<readonly ResourceDefinition[]> {
    return cluster === rootCluster || cluster === "*" ? this.#inRoot : this.#definitions;
  }
}

/** A resource that is served wherever another one is. */
export interface VirtualResource {
  readonly definition: ResourceDefinition;
  readonly servedWith: Pick<ResourceDefinition, "group" | "version" | "resource">;
}

/**
 * A catalog with additional virtual resources. A logical cluster's own CRD of the same name takes
 * precedence.
 */
export class VirtualResourceCatalog implements Catalog, CollectionSource {
  readonly #inner: Catalog & CollectionSource;
  readonly #virtualResources: ReadonlyMap<string, VirtualResource>;

  constructor(inner: Catalog & CollectionSource, besides: readonly VirtualResource[]) {
    this.#inner = inner;
    this.#virtualResources = new Map(besides.map((one) => [nameOf(one.definition), one]));
  }

  find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): MaybePromise<ResourceDefinition | undefined> {
    const own = this.#inner.find(cluster, group, version, resource);
    if (own !== undefined && !(own instanceof Promise)) return own;
    const known = this.#virtualResources.get(nameOf({ group, version, resource }));
    if (known === undefined || cluster === "*") return own;
    return own instanceof Promise
      ? own.then((found) => found ?? this.#findVirtual(cluster, known))
      : this.#findVirtual(cluster, known);
  }

  /** Virtual resources are computed, so they have no collection. */
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
    const further = [...this.#virtualResources.values()].filter(
      ({ definition, servedWith }) =>
        names.has(nameOf(servedWith)) && !names.has(nameOf(definition)),
    );
    return further.length === 0 ? all : [...all, ...further.map(({ definition }) => definition)];
  }

  async #findVirtual(cluster: ClusterScope, { definition, servedWith }: VirtualResource) {
    const { group, version, resource } = servedWith;
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
