/** What a server has of other shards: routes, connections, its front door. */
import type { Duplex } from "node:stream";
import type { ServerHost } from "@kcp-ts/apiserver";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { ClusterName, ClusterPath } from "@kcp-ts/machinery/names";
import { FrontProxy } from "./front-proxy.ts";
import { LinkServer } from "./link-server.ts";
import { type PathResolution, RemotePaths } from "./remote-paths.ts";
import { RouteTable } from "./route-table.ts";
import type { ShardOptions } from "./shard-connections.ts";
import { ShardMesh } from "./shard-mesh.ts";

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
    this.proxy = new FrontProxy({ routes, paths, mesh, processUser, onForwarded, ...sources });
  }

  start(): Promise<void> {
    return this.routes.start();
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
    this.connections.close();
    for (const server of this.#served) server.close();
  }
}
