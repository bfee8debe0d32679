/**
 * The discovery endpoints of a logical cluster: /api, /apis, /apis/<group>,
 * /apis/<group>/<version>.
 *
 * Clusters that serve the same definitions share the same bytes: documents are cached per list of
 * definitions, and garbage-collected with it.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { jsonBytes, negotiate, toBytes } from "../content/index.ts";
import type { Catalog, ResourceDefinition } from "../registry/index.ts";
import { type ApiRequest, type ApiResponse, header } from "../request/api-request.ts";
import type { PathScope } from "../request/request-scope.ts";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  groupDiscoveryList,
} from "./documents.ts";

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

interface Rendered {
  readonly bytes: Buffer;
  readonly etag: string;
}

const rendered = new WeakMap<readonly ResourceDefinition[], Map<string, Rendered>>();

export function isDiscoveryPath(path: string): boolean {
  return (
    path === "/api" || path.startsWith("/api/") || path === "/apis" || path.startsWith("/apis/")
  );
}

export async function serveDiscovery(
  request: ApiRequest,
  scope: PathScope,
  catalog: Catalog,
): Promise<ApiResponse> {
  if (scope.verb !== "get" && scope.verb !== "head") throw statusError.methodNotAllowedHere();
  return serveDocument(request, scope, await catalog.all(scope.cluster), catalog);
}

function serveDocument(
  request: ApiRequest,
  scope: PathScope,
  definitions: readonly ResourceDefinition[],
  { discoveryEntriesOf }: Catalog,
): ApiResponse {
  const [root, first, second, ...rest] = scope.path.split("/").filter((segment) => segment !== "");
  if (rest.length > 0) throw statusError.pathNotFound();
  if (first === undefined)
    return serveRoot(request, definitions, root === "api", discoveryEntriesOf === undefined);
  const document =
    root === "api"
      ? render(definitions, `/api/${first}`, () =>
          second === undefined
            ? apiResourceList(definitions, "", first, discoveryEntriesOf)
            : undefined,
        )
      : render(definitions, `/apis/${first}/${second ?? ""}`, () =>
          second === undefined
            ? apiGroup(definitions, first)
            : apiResourceList(definitions, first, second, discoveryEntriesOf),
        );
  if (document === undefined) throw statusError.pathNotFound();
  return jsonBytes(200, document.bytes);
}

/** /api and /apis are also available in the aggregated form; both or neither must have it. */
function serveRoot(
  request: ApiRequest,
  definitions: readonly ResourceDefinition[],
  isCore: boolean,
  hasAggregated: boolean,
): ApiResponse {
  const form = negotiate(header(request.headers, "accept"), { discovery: hasAggregated });
  if (form.as !== "discovery") {
    const host =
      header(request.headers, "host") ?? header(request.headers, ":authority") ?? "localhost";
    return jsonBytes(200, toBytes(isCore ? apiVersions(host) : apiGroupList(definitions)));
  }
  const document = render(definitions, isCore ? "aggregated/api" : "aggregated/apis", () =>
    groupDiscoveryList(definitions, isCore),
  ) as Rendered;
  const headers = {
    "content-type": aggregatedType,
    etag: document.etag,
    vary: "Accept",
    "cache-control": "public",
  };
  if (header(request.headers, "if-none-match") === document.etag)
    return { status: 304, headers, body: undefined };
  return { status: 200, headers, body: document.bytes };
}

function render(
  definitions: readonly ResourceDefinition[],
  name: string,
  build: () => JsonObject | undefined,
): Rendered | undefined {
  let documents = rendered.get(definitions);
  if (documents === undefined) {
    documents = new Map();
    rendered.set(definitions, documents);
  }
  const found = documents.get(name);
  if (found !== undefined) return found;
  const value = build();
  // Missing documents are not cached: clients can request any name.
  if (value === undefined) return undefined;
  const bytes = toBytes(value);
  const etag = `"${createHash("sha512").update(bytes).digest("hex").toUpperCase()}"`;
  documents.set(name, { bytes, etag });
  return { bytes, etag };
}
