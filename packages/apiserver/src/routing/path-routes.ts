/**
 * Serves non-resource paths: discovery, OpenAPI, health, version, metrics, and the list of these.
 */
import { rootCluster } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type BackupDependencies, backupPath, serveBackup } from "../backup/index.ts";
import { jsonResponse, textResponse } from "../content/index.ts";
import { isDiscoveryPath, serveDiscovery } from "../discovery/index.ts";
import { type HealthChecks, isHealthPath, serveHealth } from "../health/index.ts";
import type { ServerMetrics } from "../metrics/index.ts";
import { isOpenApiPath, serveOpenApi } from "../openapi/index.ts";
import type { Catalog } from "../registry/index.ts";
import {
  type ReplicationDependencies,
  replicationPath,
  serveReplication,
} from "../replication/index.ts";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import type { PathScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import { versionInfo } from "./version.ts";

export interface PathDependencies extends BackupDependencies, ReplicationDependencies {
  readonly catalog: Catalog;
  readonly health: HealthChecks;
  readonly metrics: ServerMetrics;
  /** Undefined when no request is audited. */
  readonly auditEvents: AuditEventSource | undefined;
  /** Undefined when service accounts get no tokens. */
  readonly issuerDocuments: PublishedDocuments | undefined;
}

/**
 * The documents with which other servers verify tokens of service accounts; the same in every
 * logical cluster, as the keys are.
 */
export interface PublishedDocuments {
  configuration(): object;
  keySet(): object;
}

/** Audit events as they happen. */
export interface AuditEventSource {
  serveTail(request: ApiRequest, query: URLSearchParams): ApiResponse;
}

export async function servePath(
  request: ApiRequest,
  scope: PathScope,
  user: UserInfo,
  dependencies: PathDependencies,
): Promise<ApiResponse> {
  const { path, query, verb } = scope;
  // As the backup: it has the complete store.
  if (path === replicationPath && scope.cluster === rootCluster)
    return serveReplication(request, { user, verb, query }, dependencies);
  if (verb !== "get" && verb !== "head") throw statusError.pathNotFound();
  if (isHealthPath(path)) return serveHealth(path, query, dependencies.health);
  if (path === "/version" || path === "/version/") return jsonResponse(200, versionInfo);
  if (isDiscoveryPath(path)) return serveDiscovery(request, scope, dependencies.catalog);
  if (isOpenApiPath(path)) return serveOpenApi(request, scope, dependencies);
  if (path === "/metrics") return serveMetrics(scope, dependencies);
  if (path === "/audit" && dependencies.auditEvents !== undefined)
    return isOfProcess(scope) ? dependencies.auditEvents.serveTail(request, query) : notOfCluster();
  if (path === issuerConfigurationPath || path === keySetPath)
    return serveIssuer(path, dependencies);
  if (path === "/" || path === "") return jsonResponse(200, { paths: pathsOf(dependencies) });
  // The backup has the complete store: it is not served below a logical cluster.
  if (path === backupPath && verb === "get" && scope.cluster === rootCluster) {
    return serveBackup(request, user, dependencies);
  }
  throw statusError.pathNotFound();
}

function serveMetrics(scope: PathScope, { metrics }: PathDependencies): ApiResponse {
  return isOfProcess(scope) ? textResponse(200, metrics.registry.render()) : notOfCluster();
}

/**
 * Metrics and audit events cover the process and all its tenants: they are not served in the scope
 * of a cluster, root included.
 */
function isOfProcess({ cluster, isClusterImplicit }: PathScope): boolean {
  return cluster === rootCluster && isClusterImplicit === true;
}

function notOfCluster(): ApiResponse {
  return textResponse(501, "shard-level endpoint not available at workspace scope");
}

const issuerConfigurationPath = "/.well-known/openid-configuration";
const keySetPath = "/openid/v1/jwks";

/**
 * The cache lifetime of the documents, as in Kubernetes: a new key is to be published for that time
 * before it signs.
 */
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
