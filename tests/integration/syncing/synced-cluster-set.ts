/**
 * For tests of many syncers in one process: a control plane's side, and physical clusters that are
 * connected to SyncTargets of its logical clusters.
 */
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import {
  agentViewPath,
  apiResourceImports,
  type SyncedResource,
  Syncers,
  type SyncTarget,
  syncTargets,
  type TargetConnection,
  type TargetIdentity,
  Targets,
} from "@kcp-ts/multicluster";
import { type Client, logicalClusters, timestamp } from "@kcp-ts/sdk";
import { configMaps, FaultyServer, namespaces, widgets } from "./faulty-server.ts";

export const syncedKinds: readonly SyncedResource[] = [
  { resource: widgets, hasStatus: true },
  { resource: configMaps, hasStatus: false },
];

export class SyncedClusterSet {
  readonly up: FaultyServer;
  readonly targets = new Targets();
  readonly errors: unknown[] = [];
  readonly #stop = new AbortController();
  readonly #connections = new Map<string, TargetConnection & { readonly end: AbortController }>();
  readonly #sides: FaultyServer[] = [];
  #syncers: Syncers | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(up: FaultyServer) {
    this.up = up;
  }

  static async start(): Promise<SyncedClusterSet> {
    const clusterSet = new SyncedClusterSet(await FaultyServer.start(systemClock));
    clusterSet.startSyncers();
    return clusterSet;
  }

  startSyncers(): void {
    const onError = (error: unknown) => void this.errors.push(error);
    const shared = { client: this.up.syncerClient, clock: systemClock, random: systemRandom };
    const clusters = logicalClusters({ ...shared, onError });
    const agentViewOf = (target: TargetIdentity) =>
      shared.client.withBasePath(agentViewPath(target));
    const work = { clusters, targets: this.targets, resources: [], agentViewOf, onError };
    this.#syncers = new Syncers({ ...shared, ...work });
    this.#running = clusters.run(this.#stop.signal);
  }

  /** A SyncTarget of a logical cluster, what is synced to it, and a way into its cluster. */
  async join(
    home: string,
    name: string,
    kinds: readonly SyncedResource[] = syncedKinds,
    faultyServer?: FaultyServer,
  ): Promise<FaultyServer> {
    const client = this.up.client.inCluster(home);
    const down = faultyServer ?? (await FaultyServer.start(systemClock));
    if (faultyServer === undefined) this.#sides.push(down);
    const made = await client.resource(syncTargets).create({ metadata: { name }, spec: {} });
    for (const { resource, hasStatus } of kinds) {
      await this.importKind(home, name, { resource, hasStatus });
    }
    this.connect(home, made, down.syncerClient);
    return down;
  }

  /** As negotiation leaves it: compatible, and served. */
  async importKind(
    home: string,
    location: string,
    { resource, hasStatus }: SyncedResource,
  ): Promise<void> {
    const { group, version, kind, namespaced } = resource;
    const name = [resource.resource, location, version, group === "" ? "core" : group].join(".");
    const imports = this.up.client.inCluster(home).resource(apiResourceImports);
    await imports.create({
      metadata: { name },
      spec: {
        location,
        groupVersion: { group, version },
        plural: resource.resource,
        singular: kind.toLowerCase(),
        kind,
        scope: namespaced ? "Namespaced" : "Cluster",
        openAPIV3Schema: { type: "object" },
        ...(hasStatus ? { subResources: [{ name: "status" }] } : {}),
      },
    });
    const lastTransitionTime = timestamp(systemClock.now());
    const conditions = ["Compatible", "Available"].map((type) => {
      return { type, status: "True", reason: "ForTest", message: "", lastTransitionTime };
    });
    await imports.patchStatus({ name }, { type: "merge", patch: { status: { conditions } } });
  }

  connect(home: string, { metadata }: SyncTarget, client: Client): void {
    const end = new AbortController();
    const connection = {
      cluster: parseClusterName(home) as ClusterName,
      name: metadata.name,
      uid: metadata.uid ?? "",
      client,
      signal: end.signal,
      end,
    };
    this.#connections.set(`${home}/${metadata.name}`, connection);
    this.targets.add(connection);
  }

  disconnect(home: string, name: string): void {
    const connection = this.#connections.get(`${home}/${name}`);
    if (connection === undefined) return;
    this.#connections.delete(`${home}/${name}`);
    connection.end.abort();
    this.targets.remove(connection);
  }

  async namespace(home: string, name = "shop"): Promise<void> {
    await this.up.client.inCluster(home).resource(namespaces).create({ metadata: { name } });
  }

  async close(): Promise<void> {
    await this.#syncers?.close();
    this.#stop.abort();
    await this.#running;
    for (const side of [this.up, ...this.#sides]) await side.close();
  }
}
