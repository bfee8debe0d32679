/**
 * Which resources a logical cluster serves. Built-ins are the same everywhere and cost nothing per cluster.
 */
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
  readonly #byName: ReadonlyMap<string, ResourceDefinition>;

  constructor(definitions: readonly ResourceDefinition[]) {
    this.#definitions = definitions;
    this.#byName = new Map(
      definitions.map((definition) => [
        `${definition.group}/${definition.version}/${definition.resource}`,
        definition,
      ]),
    );
  }

  find(
    _cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): ResourceDefinition | undefined {
    return this.#byName.get(`${group}/${version}/${resource}`);
  }

  all(_cluster: ClusterScope): readonly ResourceDefinition[] {
    return this.#definitions;
  }
}
