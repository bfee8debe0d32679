/**
 * All logical clusters: SyncTargets whole, everything else by its metadata. Resources that clusters define for themselves have
 * no schema in common, so metadata is all that a watch over all of them can bring.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  Client,
  type Clusters,
  type KubernetesObject,
  logicalClusters,
  type ObjectSource,
  type Resource,
  type SharedInformerOptions,
  type Transport,
} from "@kcp-ts/sdk";
import { syncTargets } from "../api/index.ts";

export interface WatchedClustersOptions {
  readonly client: Client;
  /** Where SyncTargets are watched; run by the caller. */
  readonly targets: Clusters;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

export function metadataAndTargets(options: WatchedClustersOptions): Clusters {
  const { targets: whole } = options;
  const metadata = metadataClusters(options);
  return {
    client: (cluster) => metadata.client(cluster),
    source<Object extends KubernetesObject, Cached = Object>(
      resource: Resource<Object>,
      shared?: SharedInformerOptions<Object, Cached>,
    ): ObjectSource<Cached> {
      const isTargets = resource.resource === syncTargets.resource;
      return (isTargets ? whole : metadata).source(resource, shared);
    },
    get hasSynced() {
      return whole.hasSynced && metadata.hasSynced;
    },
    ready(cluster) {
      const waits = [whole.ready(cluster), metadata.ready(cluster)].filter(
        (one) => one !== undefined,
      );
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
    },
    async run(signal) {
      await metadata.run(signal);
    },
  };
}

/** The metadata of everything; its clients read objects whole. */
export function metadataClusters(options: Omit<WatchedClustersOptions, "targets">): Clusters {
  const { client } = options;
  const metadata = logicalClusters({ ...options, client: metadataClient(client) });
  return {
    client: (cluster) => client.inCluster(cluster),
    source: (resource, shared) => metadata.source(resource, shared),
    get hasSynced() {
      return metadata.hasSynced;
    },
    ready: (cluster) => metadata.ready(cluster),
    run: (signal) => metadata.run(signal),
  };
}

function metadataClient(client: Client): Client {
  const { transport, basePath, clock, random } = client;
  return new Client({ transport: metadataTransport(transport), basePath, clock, random });
}

const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const partialList =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

function metadataTransport(transport: Transport): Transport {
  return {
    send(request) {
      const accept = /[?&]watch=/.test(request.path) ? partial : partialList;
      return transport.send({ ...request, headers: { ...request.headers, accept } });
    },
    close: () => transport.close(),
  };
}
