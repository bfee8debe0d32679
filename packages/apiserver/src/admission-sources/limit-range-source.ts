/** LimitRangeSource: the LimitRanges of a namespace, where the cluster serves the kind. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { everything } from "@kcp-ts/machinery/selectors";
import type { LimitRangeSource } from "../admission/index.ts";
import type { Catalog, CollectionSource } from "../registry/index.ts";
import type { ResourceKey } from "../storage/index.ts";
import { type ParameterSourceOptions, parameterKind } from "./parameters.ts";

export interface LimitRangeSourceOptions extends ParameterSourceOptions {
  readonly catalog: Catalog & CollectionSource;
  readonly mayContain: (cluster: ClusterName, collection: ResourceKey) => boolean;
}

/** Keeps nothing: the server of a cluster's Pods has its definitions in memory. */
export function limitRangeSource(options: LimitRangeSourceOptions): LimitRangeSource {
  const { catalog, mayContain } = options;
  return {
    isEmpty(cluster) {
      const collection = catalog.collectionOf(cluster, "", "v1", "limitranges");
      return collection === undefined || !mayContain(cluster, collection);
    },
    async limitRanges(cluster, namespace) {
      const definition = await catalog.find(cluster, "", "v1", "limitranges");
      if (definition === undefined) return [];
      return parameterKind(definition, cluster, options).list(namespace, everything);
    },
  };
}
