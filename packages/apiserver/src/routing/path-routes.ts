/** Everything that is not a resource: discovery, OpenAPI, health, version, metrics, and the list of these. */
import { rootCluster } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type BackupDependencies, backupPath, serveBackup } from "../backup/index.ts";
import { jsonResponse, textResponse } from "../content/index.ts";
import { isDiscoveryPath, serveDiscovery } from "../discovery/index.ts";
import { type HealthChecks, isHealthPath, serveHealth } from "../health/index.ts";
import type { ServerMetrics } from "../metrics/index.ts";
import { isOpenApiPath, serveOpenApi } from "../openapi/index.ts";
import type { Catalog } from "../registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { PathScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import { versionInfo } from "./version.ts";

export interface PathDependencies extends BackupDependencies {
  readonly catalog: Catalog;
  readonly health: HealthChecks;
  readonly metrics: ServerMetrics;
  /** Undefined where service accounts get no tokens. */
  readonly issuerDocuments: PublishedDocuments | undefined;
}

/** By which others verify tokens of service accounts; the same in every logical cluster, since the keys are. */
export interface PublishedDocuments {
  configuration(): object;
  keySet(): object;
}

export function servePath(
  request: ApiRequest,
  scope: PathScope,
  user: UserInfo,
  rooms: PathDependencies,
): MaybePromise<ApiResponse> {
  const { path, query, verb } = scope;
  if (verb !== "get" && verb !== "head") throw statusError.pathNotFound();
  if (isHealthPath(path)) return serveHealth(path, query, rooms.health);
  if (path === "/version" || path === "/version/") return jsonResponse(200, versionInfo);
  if (isDiscoveryPath(path)) return serveDiscovery(request, scope, rooms.catalog);
  if (isOpenApiPath(path)) return serveOpenApi(request, scope, rooms);
  if (path === "/metrics") return serveMetrics(scope, rooms);
  if (path === issuerConfigurationPath || path === keySetPath) return serveIssuer(path, rooms);
  if (path === "/" || path === "") return jsonResponse(200, { paths: pathsOf(rooms) });
  // The whole store, not a share of it: there is none below a logical cluster.
  if (path === backupPath && verb === "get" && scope.cluster === rootCluster) {
    return serveBackup(request, user, rooms);
  }
  throw statusError.pathNotFound();
}

/** They are about the process and all its tenants: nothing for the scope of one of them, of root neither. */
function serveMetrics(scope: PathScope, { metrics }: PathDependencies): ApiResponse {
  return scope.cluster === rootCluster && scope.isClusterUnnamed === true
    ? textResponse(200, metrics.registry.render())
    : textResponse(501, "shard-level endpoint not available at workspace scope");
}

const issuerConfigurationPath = "/.well-known/openid-configuration";
const keySetPath = "/openid/v1/jwks";

/** Others may keep them this long, as in Kubernetes: a new key is to be published that long before it signs. */
const documentsMaxAgeSeconds = 3600;

function serveIssuer(path: string, { issuerDocuments }: PathDependencies): ApiResponse {
  if (issuerDocuments === undefined) throw statusError.pathNotFound();
  const isKeySet = path === keySetPath;
  const document = isKeySet ? issuerDocuments.keySet() : issuerDocuments.configuration();
  return {
    status: 200,
    headers: {
      "content-type": isKeySet ? "application/jwk-set+json" : "application/json",
      "cache-control": `public, max-age=${documentsMaxAgeSeconds}`,
    },
    body: Buffer.from(JSON.stringify(document)),
  };
}

function pathsOf({ issuerDocuments }: PathDependencies): string[] {
  return issuerDocuments === undefined
    ? rootPaths
    : [...rootPaths, issuerConfigurationPath, keySetPath].sort();
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
