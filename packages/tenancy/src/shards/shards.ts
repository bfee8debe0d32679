/** What a server has of other shards: routes, connections, its front door. */
import type { Duplex } from "node:stream";
import type { ServerHost } from "@kcp-ts/apiserver";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { ClusterName, ClusterPath } from "@kcp-ts/machinery/names";
import { ClusterMover } from "./cluster-mover.ts";
import { FrontProxy } from "./front-proxy.ts";
import { LinkServer } from "./link-server.ts";
import { LocalDestination, RemoteDestination } from "./move-destination.ts";
import { MoveGate } from "./move-gate.ts";
import { type PathResolution, RemotePaths } from "./remote-paths.ts";
import { RouteTable } from "./route-table.ts";
import type { ShardOptions } from "./shard-connections.ts";
import { ShardMesh } from "./shard-mesh.ts";
import { firstShardOf } from "./shard-names.ts";

export interface ShardSources {
  readonly resolve: (path: ClusterPath) => MaybePromise<PathResolution>;
  /** Undefined where this shard has no such cluster. */
  readonly logicalCluster: (cluster: ClusterName) => MaybePromise<object | undefined>;
}

export class Shards {
  readonly routes: RouteTable;
  readonly connections: ShardMesh;
  readonly proxy: FrontProxy;
  readonly paths: RemotePaths;
  readonly mover: ClusterMover;
  readonly #destination: LocalDestination;
  readonly #stop = new AbortController();
  readonly #host: ServerHost;
  readonly #served = new Set<LinkServer>();

  constructor(host: ServerHost, options: ShardOptions, sources: ShardSources) {
    this.#host = host;
    const { name: ownName, network, processUser, onForwarded } = options;
    this.routes = new RouteTable({ ...host, ownName });
    this.connections = new ShardMesh({
      ownName,
      network,
      onError: (error, shard) => host.log.warn({ err: error, shard }, "a shard did not answer"),
    });
    this.paths = new RemotePaths({ connections: this.connections, clock: host.clock });
    const { routes, paths, connections: mesh } = this;
    const { storage, watchCache, clock, log } = host;
    const { signal } = this.#stop;
    const gate = new MoveGate({ clock });
    const moving = { storage, watchCache, routes, gate, signal };
    this.#destination = new LocalDestination({
      ...moving,
      onError: (error) => log.warn({ err: error }, "an arrived cluster was not announced"),
    });
    this.mover = new ClusterMover({
      ...moving,
      clock,
      firstShardOf,
      destination: (shard) => new RemoteDestination(mesh, shard, signal),
      onError: (error, cluster) => log.warn({ err: error, cluster }, "a move has to wait"),
      ...(options.readsEndMs !== undefined && { readsEndMs: options.readsEndMs }),
    });
    const door = { processUser, onForwarded, gate, destination: this.#destination };
    this.proxy = new FrontProxy({ routes, paths, mesh, ...door, ...sources });
  }

  async start(): Promise<void> {
    await this.routes.start();
    await this.#destination.resume();
    this.mover.resume();
  }

  /** Serves a connection that another shard has opened; its certificate has named the shard. */
  serve(connection: Duplex, from: string): void {
    const { handle, log } = this.#host;
    const server = new LinkServer(connection, {
      from,
      serve: (request) => this.proxy.serve(request, handle),
      onError: (error) => log.warn({ err: error, shard: from }, "a request of a shard failed"),
    });
    this.#served.add(server);
    connection.once("close", () => this.#served.delete(server));
  }

  close(): void {
    this.#stop.abort();
    this.connections.close();
    for (const server of this.#served) server.close();
  }
}
