/** What a server has of other shards: routes, connections, its front proxy. */
import type { Duplex } from "node:stream";
import type { ServerHost } from "@kcp-ts/apiserver";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { type ClusterName, type ClusterPath, parseClusterReference } from "@kcp-ts/machinery/names";
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
import { type Operation, type Operations, ShardOperations } from "./shard-operations.ts";

export interface ShardSources {
  readonly resolve: (path: ClusterPath) => MaybePromise<PathResolution>;
  /** Undefined where this shard has no such cluster. */
  readonly logicalCluster: (cluster: ClusterName) => MaybePromise<object | undefined>;
}

export class Shards {
  readonly options: ShardOptions;
  readonly routes: RouteTable;
  readonly connections: ShardMesh;
  readonly proxy: FrontProxy;
  readonly paths: RemotePaths;
  readonly mover: ClusterMover;
  readonly #destination: LocalDestination;
  readonly #stop = new AbortController();
  readonly #host: ServerHost;
  readonly #operations: ShardOperations;
  readonly #served = new Set<LinkServer>();
  readonly #table: Record<string, Operation>;

  constructor(host: ServerHost, options: ShardOptions, sources: ShardSources) {
    this.#host = host;
    this.options = options;
    const { name: ownName, network, processUser, onForwarded } = options;
    const routes = new RouteTable({ ...host, ownName });
    const mesh = new ShardMesh({
      ownName,
      network,
      onMoved: (cluster, route) => this.routes.learn(cluster, route),
      onError: (error, shard) => host.log.warn({ err: error, shard }, "a shard did not answer"),
    });
    this.#table = { resolve: resolution(sources) };
    const operations = new ShardOperations(routes, mesh, this.#table);
    const ask = operations.ask.bind(operations);
    const paths = new RemotePaths({ ask, clock: host.clock });
    const { storage, watchCache, clock, log } = host;
    const { signal } = this.#stop;
    const gate = new MoveGate({ clock });
    const moving = { storage, watchCache, routes, gate, signal };
    const destination = new LocalDestination({
      ...moving,
      onError: (error) => log.warn({ err: error }, "an arrived cluster was not announced"),
    });
    this.mover = new ClusterMover({
      ...moving,
      clock,
      firstShardOf,
      shards: () => mesh.names(),
      destination: (shard) => new RemoteDestination(mesh, shard, signal),
      onError: (error, cluster) => log.warn({ err: error, cluster }, "a move has to wait"),
      ...(options.readsEndMs !== undefined && { readsEndMs: options.readsEndMs }),
    });
    const more = { processUser, onForwarded, gate, destination, ...sources };
    this.proxy = new FrontProxy({ routes, paths, mesh, operations, ...more });
    this.routes = routes;
    this.connections = mesh;
    this.paths = paths;
    this.#destination = destination;
    this.#operations = operations;
  }

  async start(): Promise<void> {
    await this.routes.start();
    await this.#destination.resume();
    this.mover.resume();
  }

  /** Has the shard of a logical cluster do something; this one, if it has the cluster. */
  ask(cluster: ClusterName, operation: string, body: JsonValue): Promise<JsonValue> {
    return this.#operations.ask(cluster, operation, body);
  }

  /** Adds what other shards may ask of this one. */
  provide(operations: Operations): void {
    Object.assign(this.#table, operations);
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

/** Resolves a path for a shard that does not have its first cluster. */
function resolution({ resolve }: ShardSources): Operation {
  return async (_cluster, text) => {
    const path = parseClusterReference(String(text));
    if (path === undefined) return { kind: "missing" };
    if (typeof path === "string") return { kind: "cluster", cluster: path };
    return (await resolve(path)) as unknown as JsonObject;
  };
}
