/**
 * The consumers of an APIExport as clusters: the same reconciler works in all workspaces that bind
 * the API, and in no others.
 */
import { sleep } from "@kcp-ts/machinery/base";
import { type DynamicObject, defineResource } from "../client/index.ts";
import { apiExportEndpointSlices } from "../kinds/index.ts";
import { type Clusters, type ClustersOptions, overAllClusters } from "./clusters.ts";

export interface ExportConsumersOptions extends ClustersOptions {
  /**
   * The name of the APIExport's APIExportEndpointSlice in the workspace that the client is in;
   * usually that of the export.
   */
  readonly endpointSlice: string;
  readonly signal?: AbortSignal;
}

const endpointSlices = defineResource<DynamicObject>(apiExportEndpointSlices);

const pollMs = 500;

/**
 * Waits until a workspace has bound the export. The client's user needs `apiexports/content` of the
 * export in the provider's workspace, and no permissions in the workspaces of consumers.
 */
export async function exportConsumers(options: ExportConsumersOptions): Promise<Clusters> {
  const { client, endpointSlice, signal } = options;
  for (;;) {
    const slice = await client.resource(endpointSlices).find({ name: endpointSlice }, { signal });
    const [url] = endpointsOf(slice);
    // The endpoint URLs are rewritten to the address of this client's server; other shards would
    // have further endpoints.
    if (url !== undefined)
      return overAllClusters({ ...options, client: client.withBasePath(new URL(url).pathname) });
    await sleep(client.clock, pollMs, signal);
  }
}

function endpointsOf(slice: DynamicObject | undefined): readonly string[] {
  const status = slice?.["status"] as { endpoints?: readonly { url: string }[] } | undefined;
  return (status?.endpoints ?? []).map(({ url }) => url);
}
