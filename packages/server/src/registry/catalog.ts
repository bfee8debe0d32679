/**
 * Which resources a logical cluster serves. Built-ins are the same everywhere and cost nothing per cluster.
 */
import { rootCluster } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../request/api-request.ts";
import type { ClusterScope } from "../request/request-scope.ts";
import type { ResourceDefinition } from "./definition.ts";

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
}

export class BuiltInCatalog implements Catalog {
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

  all(cluster: ClusterScope): readonly ResourceDefinition[] {
    return isRoot(cluster) ? this.#inRoot : this.#definitions;
  }
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
