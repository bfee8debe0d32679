/**
 * The consumers of an APIExport as clusters: the same reconciler works in all workspaces that bind
 * the API, on all shards, and in no others.
 */
import { sleep, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, consoleLog, type Log } from "../client/index.ts";
import { type APIExportEndpointSlice, apiExportEndpointSlices } from "../kinds/index.ts";
import { ClusterSet } from "./cluster-set.ts";
import {
  type Clusters,
  type ClustersOptions,
  clusterOfClient,
  type Logging,
  loggingOf,
  overAllClusters,
  singleCluster,
} from "./clusters.ts";

export interface ExportConsumersOptions extends ClustersOptions {
  /**
   * The name of the APIExport's APIExportEndpointSlice in the workspace that the client is in;
   * usually that of the export.
   */
  readonly endpointSlice: string;
  /**
   * The client of an endpoint, where consumers are on several shards: `connection.clientAt`.
   * Omitted: endpoints are paths on the client's own server.
   */
  readonly connect?: (url: string) => Client;
  readonly signal?: AbortSignal;
}

const pollMs = 500;
/** Who has just made an export has not to be told that it is not served yet. */
const pollsWithoutNotice = 4;

/**
 * Waits until a workspace has bound the export, which it logs, and follows the endpoints from then
 * on. The client's user needs `apiexports/content` of the export in the provider's workspace, and
 * no permissions in the workspaces of consumers.
 */
export async function exportConsumers(options: ExportConsumersOptions): Promise<Clusters> {
  const { client, endpointSlice, signal, log = consoleLog } = options;
  const endpoints = new ExportEndpoints(options);
  let told = "";
  for (let polls = 1; ; polls++) {
    const slice = await client
      .resource(apiExportEndpointSlices)
      .find({ name: endpointSlice }, { signal });
    endpoints.follow(slice);
    if (endpoints.size > 0) return endpoints;
    const reason = reasonToWait(endpointSlice, clusterOfClient(client), slice !== undefined);
    if (polls > pollsWithoutNotice && reason !== told) log.info(reason);
    if (polls > pollsWithoutNotice) told = reason;
    await sleep(client.clock, pollMs, signal);
  }
}

function reasonToWait(name: string, cluster: ClusterName, exists: boolean): string {
  return exists
    ? `waiting for consumers: no workspace has bound ${name} yet. Next, in one: kubectl kcp bind apiexport ${cluster}:${name}`
    : `waiting for APIExportEndpointSlice ${name}: ${cluster} has none. Next: create the APIExport there, or connect to the workspace that has it, as with client.inCluster(path)`;
}

/** One member for each endpoint: all logical clusters of one shard that bind the export. */
class ExportEndpoints implements Clusters {
  readonly #options: ExportConsumersOptions;
  readonly #set = new ClusterSet();
  readonly #hub: Clusters;
  readonly #logging: Logging;
  readonly #members = new Map<string, Clusters>();
  #warnedOf = 1;

  constructor(options: ExportConsumersOptions) {
    this.#logging = loggingOf(options);
    this.#options = { ...options, log: this.#logging.log };
    this.#hub = singleCluster(this.#options);
    const selector = { fieldSelector: `metadata.name=${options.endpointSlice}` };
    this.#hub
      .source(apiExportEndpointSlices, { selector })
      .addHandler({
        added: (slice) => this.follow(slice),
        updated: (slice) => this.follow(slice),
        deleted: () => this.follow(undefined),
      });
  }

  get size(): number {
    return this.#members.size;
  }

  follow(slice: APIExportEndpointSlice | undefined): void {
    const urls = (slice?.status?.endpoints ?? []).map(({ url }) => url);
    const wanted = new Map(urls.map((url) => [this.#nameOf(url), url]));
    for (const name of this.#members.keys()) {
      if (wanted.has(name)) continue;
      this.#members.delete(name);
      this.#set.removeClusters(name);
    }
    for (const [name, url] of wanted) {
      if (this.#members.has(name)) continue;
      const member = overAllClusters({ ...this.#options, client: this.#clientOf(url) });
      this.#members.set(name, member);
      this.#set.addClusters(name, member);
    }
    this.#warnOfOtherServers(urls);
  }

  /** Without `connect` a path on two servers is one endpoint: that of the client's server. */
  #nameOf(url: string): string {
    return this.#options.connect === undefined ? new URL(url).pathname : url;
  }

  #clientOf(url: string): Client {
    const { connect, client } = this.#options;
    return connect?.(url) ?? client.withBasePath(new URL(url).pathname);
  }

  #warnOfOtherServers(urls: readonly string[]): void {
    const { connect, endpointSlice } = this.#options;
    const servers = new Set(urls.map((url) => new URL(url).origin)).size;
    if (connect !== undefined || servers <= this.#warnedOf) return;
    this.#warnedOf = servers;
    this.#logging.log.warn(
      `${endpointSlice} has endpoints on ${servers} servers, and only consumers on the client's own ` +
        "are followed. Next: pass connect, as in exportConsumers({ …, connect: connection.clientAt })",
    );
  }

  useLog(log: Log): void {
    this.#logging.useLog(log);
  }

  client(cluster: Parameters<Clusters["client"]>[0]): Client {
    return this.#set.client(cluster);
  }

  readonly source: Clusters["source"] = (resource, options) => this.#set.source(resource, options);

  ready(cluster: Parameters<Clusters["ready"]>[0]): Promise<void> | undefined {
    return this.#set.ready(cluster);
  }

  get hasSynced(): boolean {
    return [...this.#members.values()].every(({ hasSynced }) => hasSynced);
  }

  refreshed(signal?: AbortSignal): Promise<void> {
    return this.#set.refreshed(signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new TaskGroup(signal);
    running.start((stop) => this.#hub.run(stop));
    running.start((stop) => this.#set.run(stop));
    await running.join();
  }
}
