/** What the parts of a shard know of the other shards, and how they talk to them. */
import type { Duplex } from "node:stream";
import type { ApiResponse, MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import type { ClusterName } from "@kcp-ts/machinery/names";

/** A record of a logical cluster that is not on the shard that its name carries. */
export interface ShardRoute {
  readonly shard: string;
  /** Grows with each move of the logical cluster. */
  readonly version: number;
}

export interface ShardRoutes {
  /** The own shard's name. */
  readonly ownName: string;
  /** The shard that has a logical cluster; undefined: this one. */
  shardOf(cluster: ClusterName): MaybePromise<string | undefined>;
  /** The stored route of a logical cluster that has moved; undefined for one that never did. */
  routeOf(cluster: ClusterName): ShardRoute | undefined;
  /**
   * Records that a cluster is on `shard` since `version`; older versions are ignored. The record is
   * stored when the promise resolves.
   */
  setRoute(cluster: ClusterName, route: ShardRoute): Promise<void>;
}

/** A request of this shard to another one. */
export interface ShardRequest {
  readonly method: string;
  /** The path and query, as on a request line: `/clusters/<name>/api/v1/…`. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | undefined;
  /** The user of the request; the shard itself, a member of system:masters, if omitted. */
  readonly user?: UserInfo | undefined;
  /** Ends the request, and the watch that it began. */
  readonly signal?: AbortSignal | undefined;
}

export interface ShardConnections {
  /** The names of the other shards. */
  names(): readonly string[];
  /**
   * Sends a request to another shard, which serves it itself. A StatusError (503) that names the
   * shard when it does not answer. The body of a list or a watch is a stream.
   */
  request(shard: string, request: ShardRequest): Promise<ApiResponse>;
}

/** The connections between shards, below what they say to each other. */
export interface ShardNetwork {
  /** The names of the other shards. */
  names(): readonly string[];
  /** Opens a connection to another shard, which knows by it whom it serves. */
  connect(shard: string): Promise<Duplex>;
}

export interface ShardAddress {
  readonly name: string;
  readonly baseUrl: string;
}

/** Omitted where a server is the only shard. */
export interface ShardOptions {
  /** The name of this shard. */
  readonly name: string;
  readonly network: ShardNetwork;
  /** The users whose credentials only this process knows: its own in-process clients. */
  readonly processUser?: ((authorization: string) => UserInfo | undefined) | undefined;
  /** Called with what is known of all shards, each time that it is told. */
  readonly onMembers?: ((members: readonly ShardAddress[]) => void) | undefined;
  /** Where other shards, and clients of this shard alone, reach it; unknown before it listens. */
  readonly baseUrl?: (() => string | undefined) | undefined;
  /** Called with each request that was sent on to another shard. */
  readonly onForwarded?: ((shard: string, status: number) => void) | undefined;
  /** How long reads that began before a cluster moved away have to end; 5 s if omitted. */
  readonly readsEndMs?: number | undefined;
}

/** The identity of a shard at the other shards. */
export function shardUser(shard: string): UserInfo {
  return { username: `system:shard:${shard}`, groups: ["system:masters", "system:authenticated"] };
}

/** The routes of a server that is the only shard. */
export const onlyShard: ShardRoutes = {
  ownName: "root",
  shardOf: () => undefined,
  routeOf: () => undefined,
  async setRoute() {
    throw new Error("a server that is the only shard has no routes");
  },
};
