/**
 * The requests of operators about moves between shards:
 *
 *     POST    /clusters/<path>/apis/core.kcp.io/v1alpha1/logicalclusters/cluster/move   {"to": "b"}
 *     GET     /shards/<from>/apis/core.kcp.io/v1alpha1/shards/<from>/moves?cluster=<name>
 *     DELETE  the same: cancels the move before its switch
 *
 * A move is asked of the cluster, and followed at the shard that it leaves, which the answer names:
 * tenants do not choose shards, so both need the right to update Shards.
 */
import type { UnresolvedTarget, UnresolvedTargetRequest } from "@kcp-ts/apiserver";
import { type Authorizer, forbidden } from "@kcp-ts/apiserver/authorization";
import { jsonResponse } from "@kcp-ts/apiserver/content";
import type { ApiResponse } from "@kcp-ts/apiserver/request/api-request";
import type { RequestScope } from "@kcp-ts/apiserver/request/request-scope";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { ClusterMover, MoveStatus } from "./cluster-mover.ts";

export interface MoveRequestsOptions {
  readonly ownName: string;
  readonly mover: ClusterMover;
  readonly authorizer: Authorizer;
}

const group = "core.kcp.io";
const bodyBytesMax = 4096;

/** The target of a request about moves; undefined for all others. */
export function moveTargetOf(
  scope: RequestScope,
  options: MoveRequestsOptions,
): UnresolvedTarget | undefined {
  if (scope.kind !== "resource" || scope.group !== group || scope.cluster === "*") return undefined;
  const { resource, subresource, cluster } = scope;
  const isBegin = resource === "logicalclusters" && subresource === "move";
  const isStatus = resource === "shards" && subresource === "moves";
  if (!isBegin && !isStatus) return undefined;
  return {
    kind: "unresolved",
    authorize: (request) => authorize(options.authorizer, request),
    serve: (request) =>
      isBegin
        ? begin(options, cluster, request)
        : follow(options, scope.query.get("cluster"), request),
  };
}

async function authorize(
  authorizer: Authorizer,
  { user, attributes, note }: UnresolvedTargetRequest,
): Promise<void> {
  const decision = await authorizer.authorize({
    ...attributes,
    user,
    cluster: rootCluster,
    verb: attributes.verb === "get" ? "get" : "update",
    isResourceRequest: true,
    group,
    version: "v1alpha1",
    resource: "shards",
    subresource: "",
    namespace: "",
    name: "",
  });
  note(decision);
  if (!decision.allowed) throw forbidden(attributes, decision.reason);
}

async function begin(
  { mover, ownName }: MoveRequestsOptions,
  cluster: ClusterName,
  { request }: UnresolvedTargetRequest,
): Promise<ApiResponse> {
  if (request.method !== "POST") throw statusError.methodNotAllowedHere();
  const body = parseBounded(bounds.requestBody, await request.readBody(bodyBytesMax));
  const to = isJsonObject(body) ? body["to"] : undefined;
  if (typeof to !== "string" || to === "")
    throw statusError.badRequest('say where to: {"to": "<shard>"}');
  return answer(ownName, await mover.move(cluster, to));
}

async function follow(
  { mover, ownName }: MoveRequestsOptions,
  cluster: string | null,
  { request }: UnresolvedTargetRequest,
): Promise<ApiResponse> {
  if (request.method === "GET" && cluster === null)
    return jsonResponse(200, { from: ownName, moves: mover.statuses().map(shown) });
  const name = (cluster ?? "") as ClusterName;
  const status = request.method === "DELETE" ? mover.cancel(name) : mover.statusOf(name);
  if (status === undefined) throw statusError.badRequest(`${name} is not moving from ${ownName}`);
  return answer(ownName, status);
}

function answer(from: string, status: MoveStatus): ApiResponse {
  return jsonResponse(200, { from, ...shown(status) });
}

function shown({ pauseMs, message, ...status }: MoveStatus): JsonObject {
  return { ...status, pauseMs: pauseMs ?? null, message: message ?? null };
}
