/** Everything that is not a resource: discovery, OpenAPI, health, version, metrics, and the list of these. */
import { rootCluster } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type BackupRooms, backupPath, serveBackup } from "../backup/index.ts";
import { json, text } from "../content/index.ts";
import { isDiscoveryPath, serveDiscovery } from "../discovery/index.ts";
import { type HealthChecks, isHealthPath, serveHealth } from "../health/index.ts";
import type { ServerMetrics } from "../metrics/index.ts";
import { isOpenApiPath, serveOpenApi } from "../openapi/index.ts";
import type { Catalog } from "../registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { PathScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import { versionInfo } from "./version.ts";

export interface PathRooms extends BackupRooms {
  readonly catalog: Catalog;
  readonly health: HealthChecks;
  readonly metrics: ServerMetrics;
}

export function servePath(
  request: ApiRequest,
  scope: PathScope,
  user: UserInfo,
  rooms: PathRooms,
): MaybePromise<ApiResponse> {
  const { path, query, verb } = scope;
  if (verb !== "get" && verb !== "head") throw statusError.pathNotFound();
  if (isHealthPath(path)) return serveHealth(path, query, rooms.health);
  if (path === "/version" || path === "/version/") return json(200, versionInfo);
  if (isDiscoveryPath(path)) return serveDiscovery(request, scope, rooms.catalog);
  if (isOpenApiPath(path)) return serveOpenApi(request, scope, rooms);
  if (path === "/metrics") return serveMetrics(scope, rooms);
  if (path === "/" || path === "") return json(200, { paths: rootPaths });
  // The whole store, not a share of it: there is none below a logical cluster.
  if (path === backupPath && verb === "get" && scope.cluster === rootCluster) {
    return serveBackup(request, user, rooms);
  }
  throw statusError.pathNotFound();
}

/** They are about the process and all its tenants: nothing for one tenant's scope. */
function serveMetrics({ cluster }: PathScope, { metrics }: PathRooms): ApiResponse {
  return cluster === rootCluster
    ? text(200, metrics.registry.render())
    : text(501, "shard-level endpoint not available at workspace scope");
}

const rootPaths = [
  "/api",
  "/api/v1",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/readyz",
  "/version",
];
