/**
 * Wiring of the Services that webhooks name, from the Service resource of a logical cluster,
 * whichever CRD or APIExport defines it there.
 *
 * The Services are read for every call, so a change applies to the next call. They are read in
 * their stored form: a conversion by webhook could need the very Service that is being looked up.
 */
import { neverAborted, type Random } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Catalog,
  collectionKeyOf,
  type ResourceDefinition,
  storageKeyOf,
} from "../registry/index.ts";
import { namespacePrefix, type Storage, type StorageKey } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { cachedLabels, type WatchCache } from "../watch-cache/index.ts";
import { addressOfEndpoints, addressOfService, type ServiceObjects } from "../webhooks/index.ts";

export interface ServiceObjectsOptions {
  /** Called on demand: the catalog is created after the webhook client. */
  readonly catalog: () => Catalog;
  readonly watchCache: WatchCache;
  readonly storage: Storage;
  readonly random: Random;
}

/**
 * The labels with the Service of an EndpointSlice: a Service of one cluster, or a multi-cluster
 * Service.
 */
const serviceLabels = ["kubernetes.io/service-name", "multicluster.kubernetes.io/service-name"];
const pageEntries = 500;
/** The number of slices of one Service that are read. */
const slicesMax = 100;

export function serviceObjects(options: ServiceObjectsOptions): ServiceObjects {
  const objects = new StoredObjects(options);
  return async ({ cluster, namespace, name, port }) => {
    if (cluster === undefined) return undefined;
    const service = await objects.get(cluster, "services", namespace, name);
    if (service === undefined) return undefined;
    const own = addressOfService(service, port);
    if (own !== undefined) return own;
    const slices = await objects.slicesOf(cluster, namespace, name);
    const endpoints =
      slices.length > 0 ? undefined : await objects.get(cluster, "endpoints", namespace, name);
    return addressOfEndpoints(service, port, { slices, endpoints }, () => options.random.next());
  };
}

class StoredObjects {
  readonly #options: ServiceObjectsOptions;

  constructor(options: ServiceObjectsOptions) {
    this.#options = options;
  }

  async get(
    cluster: ClusterName,
    resource: string,
    namespace: string,
    name: string,
  ): Promise<JsonObject | undefined> {
    const definition = await this.#options.catalog().find(cluster, "", "v1", resource);
    if (definition?.isNamespaced !== true) return undefined;
    const key = storageKeyOf(definition, { cluster, namespace, name });
    const entry = await this.#options.watchCache.get(key, { kind: "latest" }, neverAborted);
    return entry === undefined ? undefined : decodeObject(entry);
  }

  /** The slices of the Service itself; without any, those of the multi-cluster Service. */
  async slicesOf(cluster: ClusterName, namespace: string, name: string): Promise<JsonObject[]> {
    const { catalog, storage } = this.#options;
    const definition = await catalog().find(cluster, "discovery.k8s.io", "v1", "endpointslices");
    if (definition?.isNamespaced !== true) return [];
    const found = serviceLabels.map((): JsonObject[] => []);
    const prefix = prefixOf(definition, cluster, namespace);
    for (let continueAfter: StorageKey | undefined; ; ) {
      const reading = { signal: neverAborted, entriesMax: pageEntries, continueAfter };
      const page = await storage.list(prefix, reading);
      for (const entry of page.entries) {
        const labels = cachedLabels(entry);
        const at = serviceLabels.findIndex((label) => labels?.[label] === name);
        const slices = found[at];
        if (slices !== undefined && slices.length < slicesMax) slices.push(decodeObject(entry));
      }
      if (!page.more) break;
      continueAfter = page.entries.at(-1)?.key;
    }
    return found.find((slices) => slices.length > 0) ?? [];
  }
}

function prefixOf(
  definition: ResourceDefinition,
  cluster: ClusterName,
  namespace: string,
): StorageKey {
  return namespacePrefix({ ...collectionKeyOf(definition), cluster, namespace });
}
