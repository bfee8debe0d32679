/** What replicas need of the other shards: which one has a logical cluster, and how to ask it. */
import type { ApiResponse } from "@kcp-ts/apiserver/request/api-request";
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface OtherShards {
  /** The own shard's name. */
  readonly ownName: string;
  /** The shard that has a logical cluster; undefined: this one. */
  shardOf(cluster: ClusterName): string | undefined;
  names(): readonly string[];
  /** Asks another shard what no client can ask; errors as those of `request`. */
  ask(shard: string, operation: string, body: JsonValue): Promise<JsonValue>;
  /**
   * Sends a request to another shard, as this shard. Throws a StatusError (503) that names the
   * shard when it does not answer. The body of a list or a watch may be a stream.
   */
  request(shard: string, request: ShardQuestion): Promise<ApiResponse>;
}

export interface ShardQuestion {
  readonly method: string;
  /** The path and query, as on a request line. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | undefined;
  /** Ends the request, and the watch that it began. */
  readonly signal?: AbortSignal | undefined;
}
