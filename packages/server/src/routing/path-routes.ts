/** Everything that is not a resource: discovery, OpenAPI, health, version, metrics, and the list of these. */
import { statusError } from "@kcp-ts/machinery/status";
import { json, text } from "../content/index.ts";
import { isDiscoveryPath, serveDiscovery } from "../discovery/index.ts";
import { type HealthChecks, isHealthPath, serveHealth } from "../health/index.ts";
import type { ServerMetrics } from "../metrics/index.ts";
import { isOpenApiPath, serveOpenApi } from "../openapi/index.ts";
import type { Catalog } from "../registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { PathScope } from "../request/request-scope.ts";
import { versionInfo } from "./version.ts";

export interface PathRooms {
  readonly catalog: Catalog;
  readonly health: HealthChecks;
  readonly metrics: ServerMetrics;
}

export function servePath(
  request: ApiRequest,
  scope: PathScope,
  rooms: PathRooms,
): MaybePromise<ApiResponse> {
  const { path, query, verb } = scope;
  if (verb !== "get" && verb !== "head") throw statusError.pathNotFound();
  if (isHealthPath(path)) return serveHealth(path, query, rooms.health);
  if (path === "/version" || path === "/version/") return json(200, versionInfo);
  if (isDiscoveryPath(path)) return serveDiscovery(request, scope, rooms.catalog);
  if (isOpenApiPath(path)) return serveOpenApi(request, scope, rooms.catalog);
  if (path === "/metrics") return text(200, rooms.metrics.registry.render());
  if (path === "/" || path === "") return json(200, { paths: rootPaths });
  throw statusError.pathNotFound();
}

const rootPaths = [
  "/api",
  "/api/v1",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v3",
  "/readyz",
  "/version",
];
