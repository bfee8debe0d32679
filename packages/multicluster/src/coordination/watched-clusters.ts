/**
 * Watches over all logical clusters: SyncTargets as full objects, everything else as metadata.
 * Resources that clusters define themselves have no common schema, so a wildcard watch delivers
 * only metadata.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  Client,
  type Clusters,
  type KubernetesObject,
  type ObjectSource,
  type Resource,
  type SharedInformerOptions,
  type Transport,
} from "@kcp-ts/sdk";
import { syncTargets } from "../api/index.ts";
import { MetadataInformers, type MetadataView } from "./metadata-informers.ts";

export interface WatchedClustersOptions {
  readonly client: Client;
  /** The watch of SyncTargets; the caller runs it. */
  readonly targets: Clusters;
  /** The metadata watches that controllers share; watches of its own if omitted. */
  readonly metadata?: MetadataInformers | undefined;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** The caller runs them. */
export function sharedMetadata(client: Client, clock: Clock): MetadataInformers {
  return new MetadataInformers({ client: metadataClient(client), clock });
}

export function metadataAndTargets(options: WatchedClustersOptions): MetadataView {
  const { targets: workload } = options;
  const metadata = metadataClusters(options);
  return {
    client: (cluster) => metadata.client(cluster),
    source<Object extends KubernetesObject, Cached = Object>(
      resource: Resource<Object>,
      shared?: SharedInformerOptions<Object, Cached>,
    ): ObjectSource<Cached> {
      const isTargets = resource.resource === syncTargets.resource;
      return (isTargets ? workload : metadata).source(resource, shared);
    },
    get hasSynced() {
      return workload.hasSynced && metadata.hasSynced;
    },
    ready(cluster) {
      const waits = [workload.ready(cluster), metadata.ready(cluster)].filter(
        (one) => one !== undefined,
      );
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
    },
    async listed() {
      await Promise.all([workload.ready(rootCluster), metadata.listed()]);
    },
    run: (signal) => metadata.run(signal),
  };
}

/** Metadata watches of all logical clusters; their clients read full objects. */
export function metadataClusters(options: Omit<WatchedClustersOptions, "targets">): MetadataView {
  const { client, metadata: shared, clock, onError } = options;
  if (shared !== undefined) return shared.view(client, onError);
  const own = sharedMetadata(client, clock);
  return Object.assign(own.view(client, onError), {
    run: (signal: AbortSignal) => own.run(signal),
  });
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
