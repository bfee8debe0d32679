/**
 * What shards ask each other, below what clients can ask: requests of these targets are served on
 * connections between shards alone, and name the logical cluster that they are about.
 */
import { jsonResponse, statusResponse, toStatusError } from "@kcp-ts/apiserver/content";
import type { ApiRequest, ApiResponse } from "@kcp-ts/apiserver/request/api-request";
import { type JsonValue, parseJson } from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import { StatusError, type StatusReason, statusError } from "@kcp-ts/machinery/status";
import type { LinkRequest, LinkResponse } from "./link-client.ts";
import type { RequestOfShard, Served } from "./link-server.ts";
import type { RouteTable } from "./route-table.ts";
import { shardUser } from "./shard-connections.ts";
import { type ShardMesh, unavailable } from "./shard-mesh.ts";

export type Operation = (
  cluster: ClusterName,
  body: JsonValue,
  from: string,
) => Promise<JsonValue | undefined>;
export type Operations = Readonly<Record<string, Operation>>;

export const operationPrefix = "/shard/";
const bodyBytesMax = 3 << 20;
const attemptsMax = 3;

export class ShardOperations {
  readonly #routes: RouteTable;
  readonly #mesh: ShardMesh;
  readonly #operations: Operations;

  constructor(routes: RouteTable, mesh: ShardMesh, operations: Operations) {
    this.#routes = routes;
    this.#mesh = mesh;
    this.#operations = operations;
  }

  /** Has the shard of a logical cluster do something; this one, if it has the cluster. */
  async ask(cluster: ClusterName, operation: string, body: JsonValue): Promise<JsonValue> {
    let shard = this.#routes.shardOf(cluster);
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      if (shard === undefined)
        return (await this.#find(operation)(cluster, body, this.#routes.ownName)) ?? null;
      if (!this.#mesh.has(shard)) throw unavailable(shard);
      const answer = await this.#mesh.send(shard, this.#requestOf(cluster, operation, body));
      if (answer === "not-sent") continue;
      if (answer !== "unknown" && "movedTo" in answer) {
        this.#routes.learn(cluster, answer.movedTo);
        shard = this.#routes.shardOf(cluster);
      } else return resultOf(answer, shard);
    }
    throw statusError.unavailable(`the shard of ${cluster} is not found`);
  }

  async serve(request: RequestOfShard): Promise<Served> {
    const [operation = "", encoded = ""] = request.target.slice(operationPrefix.length).split("/");
    const cluster = parseClusterName(decodeURIComponent(encoded));
    if (cluster === undefined) return statusResponse(statusError.pathNotFound());
    const elsewhere = this.#routes.shardOf(cluster);
    if (elsewhere !== undefined) {
      const movedTo = this.#routes.routeOf(cluster);
      return movedTo === undefined ? statusResponse(unavailable(elsewhere)) : { movedTo };
    }
    try {
      const body = await bodyOf(request);
      const result = await this.#find(operation)(cluster, body, request.fromShard);
      return jsonResponse(200, { result: result ?? null });
    } catch (error) {
      return statusResponse(toStatusError(error));
    }
  }

  #find(operation: string): Operation {
    const found = Object.hasOwn(this.#operations, operation)
      ? this.#operations[operation]
      : undefined;
    if (found === undefined) throw statusError.pathNotFound();
    return found;
  }

  #requestOf(cluster: ClusterName, operation: string, body: JsonValue): LinkRequest {
    const user = shardUser(this.#routes.ownName);
    return {
      method: "POST",
      target: `${operationPrefix}${operation}/${encodeURIComponent(cluster)}`,
      headersText: "{}",
      senderText: JSON.stringify({ remoteAddress: "", user }),
      hops: 0,
      isOfShard: true,
      readBody: async () => Buffer.from(JSON.stringify(body)),
      onClose: undefined,
    };
  }
}

async function bodyOf(request: ApiRequest): Promise<JsonValue> {
  const bytes = await request.readBody(bodyBytesMax);
  return parseJson(Buffer.from(bytes).toString("utf8")).value;
}

async function resultOf(answer: LinkResponse, shard: string): Promise<JsonValue> {
  if (typeof answer === "string" || "movedTo" in answer) throw unavailable(shard);
  const { result, reason, message, code } = parseJson(await textOf(answer)).value as {
    readonly [member: string]: JsonValue;
  };
  if (answer.status === 200) return result ?? null;
  throw new StatusError({
    code: Number(code),
    reason: String(reason) as StatusReason,
    message: String(message),
  });
}

export async function textOf({ body }: ApiResponse): Promise<string> {
  if (body === undefined) return "null";
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8");
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of body) text += decoder.decode(part, { stream: true });
  return text + decoder.decode();
}
