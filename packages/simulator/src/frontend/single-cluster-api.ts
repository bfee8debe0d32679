/**
 * Makes a server with many logical clusters look like a single plain cluster: with its own version,
 * and without access to other logical clusters.
 */
import type { ApiRequest, ApiResponse } from "@kcp-ts/apiserver";
import { statusError } from "@kcp-ts/machinery/status";
import type { Handle } from "./faults.ts";

const versions = {
  "1.28": { gitVersion: "v1.28.15", goVersion: "go1.22.8", buildDate: "2024-10-22T20:35:08Z" },
  "1.36": { gitVersion: "v1.36.4", goVersion: "go1.26.1", buildDate: "2026-10-13T18:00:00Z" },
} as const;

export type GenerationName = keyof typeof versions;

export function gitVersionOf(generation: GenerationName): string {
  return versions[generation].gitVersion;
}

export function asSingleCluster(generation: GenerationName, next: Handle): Handle {
  return (request) => {
    const path = request.target.split("?", 1)[0] as string;
    if ((path === "/version" || path === "/version/") && request.method === "GET")
      return json(200, versionOf(generation));
    if (path === "/clusters" || path.startsWith("/clusters/")) {
      const { status } = statusError.pathNotFound();
      return json(404, status);
    }
    return next(withoutClusterHeader(request));
  };
}

function versionOf(generation: GenerationName): object {
  const [major, minor] = generation.split(".");
  return {
    major,
    minor,
    ...versions[generation],
    gitCommit: "",
    gitTreeState: "clean",
    compiler: "gc",
    platform: "linux/amd64",
  };
}

function withoutClusterHeader(request: ApiRequest): ApiRequest {
  if (request.headers["x-kubernetes-cluster"] === undefined) return request;
  const { "x-kubernetes-cluster": _, ...headers } = request.headers;
  return withHeaders(request, headers);
}

export function withHeaders(request: ApiRequest, headers: ApiRequest["headers"]): ApiRequest {
  return {
    method: request.method,
    target: request.target,
    headers,
    remoteAddress: request.remoteAddress,
    clientCertificate: request.clientCertificate,
    onClose: (callback) => request.onClose(callback),
    readBody: (bytesMax) => request.readBody(bytesMax),
  };
}

function json(status: number, value: unknown): ApiResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: new TextEncoder().encode(JSON.stringify(value)),
  };
}
