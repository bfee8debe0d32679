/** The parameters of policies: objects of any kind that the cluster serves. */
import { neverAborted } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import type { ParameterKind, ParameterSource } from "../admission/index.ts";
import {
  apiVersionOf,
  type Catalog,
  type ResourceDefinition,
  storageKeyOf,
  toServed,
  toServedEntries,
} from "../registry/index.ts";
import { clusterPrefix, namespacePrefix, type Storage } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { cachedLabels, type WatchCache } from "../watch-cache/index.ts";

export interface ParameterSourceOptions {
  readonly catalog: Catalog;
  readonly watchCache: WatchCache;
  readonly storage: Storage;
}

/** The page size of the list that a selector is matched against. */
const pageEntries = 500;
/** One more than the limit of a binding, so that the excess is detected. */
const foundMax = 1001;

export function parameterSource(options: ParameterSourceOptions): ParameterSource {
  const { catalog } = options;
  return {
    async kind(cluster, apiVersion, kind) {
      const all = await catalog.all(cluster);
      const named = all.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
      if (named === undefined) return undefined;
      const { group, version, resource } = named;
      const definition = await catalog.find(cluster, group, version, resource);
      return definition === undefined ? undefined : parameterKind(definition, cluster, options);
    },
  };
}

export function parameterKind(
  definition: ResourceDefinition,
  cluster: ClusterName,
  { watchCache, storage }: Pick<ParameterSourceOptions, "watchCache" | "storage">,
): ParameterKind {
  return {
    isNamespaced: definition.isNamespaced,
    async get(namespace, name) {
      const key = storageKeyOf(definition, { cluster, namespace, name });
      const entry = await watchCache.get(key, { kind: "latest" }, neverAborted);
      return entry === undefined ? undefined : decodeObject(await toServed(definition, entry));
    },
    async list(namespace: string, selector: LabelSelector) {
      const prefix = prefixOf(definition, cluster, namespace);
      const found: JsonObject[] = [];
      for (let continueAfter: Parameters<Storage["list"]>[1]["continueAfter"]; ; ) {
        const options = { signal: neverAborted, entriesMax: pageEntries, continueAfter };
        const page = await storage.list(prefix, options);
        const selected = page.entries.filter((entry) => selector.matches(cachedLabels(entry)));
        const shown = await toServedEntries(definition, selected.slice(0, foundMax));
        for await (const entries of Symbol.asyncIterator in shown ? shown : [shown])
          found.push(...entries.map(decodeObject));
        if (!page.more || found.length >= foundMax) return found;
        continueAfter = page.entries.at(-1)?.key;
      }
    },
  };
}

function prefixOf(definition: ResourceDefinition, cluster: ClusterName, namespace: string) {
  const { group, resource, identity, storedAs } = definition;
  const collection = { ...(storedAs ?? { group, resource, identity }), cluster };
  return definition.isNamespaced
    ? namespacePrefix({ ...collection, namespace })
    : clusterPrefix(collection);
}
