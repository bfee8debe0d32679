/** The requests that a fault affects. Omitted members match every request. */
import type { ApiRequest } from "@kcp-ts/apiserver";

export interface RequestMatch {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `*` means requests across all logical clusters, not any cluster. */
  readonly cluster?: string;
  /** The plural, as it appears in paths. */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly isWatch?: boolean;
  /** Matches the full path, with query. */
  readonly path?: RegExp;
  readonly userAgent?: RegExp;
}

export function matchesRequest(match: RequestMatch, request: ApiRequest): boolean {
  const requested = requestedObjectOf(request.target);
  return (
    (match.method === undefined || match.method === request.method) &&
    (match.cluster === undefined || match.cluster === requested.cluster) &&
    (match.resource === undefined || match.resource === requested.resource) &&
    (match.namespace === undefined || match.namespace === requested.namespace) &&
    (match.name === undefined || match.name === requested.name) &&
    (match.isWatch === undefined || match.isWatch === requested.isWatch) &&
    (match.path === undefined || match.path.test(request.target)) &&
    (match.userAgent === undefined ||
      match.userAgent.test(String(request.headers["user-agent"] ?? "")))
  );
}

export interface RequestedObject {
  readonly cluster: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly isWatch: boolean;
}

export function requestedObjectOf(target: string): RequestedObject {
  const url = new URL(target, "http://localhost");
  const path = url.pathname.split("/").slice(1).map(decodeURIComponent);
  const cluster = path[0] === "clusters" ? (path.splice(0, 2)[1] ?? "root") : "root";
  const rest = path.slice(path[0] === "apis" ? 3 : 2);
  const isInNamespace = rest[0] === "namespaces" && rest.length > 2;
  const namespace = isInNamespace ? (rest.splice(0, 2)[1] ?? "") : "";
  const [resource = "", name = ""] = rest;
  const watch = url.searchParams.get("watch");
  return { cluster, resource, namespace, name, isWatch: watch === "true" || watch === "1" };
}
