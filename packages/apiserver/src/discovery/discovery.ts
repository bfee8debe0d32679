/**
 * The discovery endpoints of a logical cluster: /api, /apis, /apis/<group>,
 * /apis/<group>/<version>.
 *
 * Clusters that serve the same definitions share the same bytes: documents are cached per list of
 * definitions, and garbage-collected with it.
 */
import { createHash } from "node:crypto";
import { type Resumable, runYielding } from "@kcp-ts/machinery/base";
import { type JsonObject, stringifyResumable } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { jsonBytes, jsonResponse, negotiate } from "../content/index.ts";
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

type Definitions = readonly ResourceDefinition[];

const rendered = new WeakMap<Definitions, Map<string, Promise<Rendered | undefined>>>();

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

async function serveDocument(
  request: ApiRequest,
  scope: PathScope,
  definitions: Definitions,
  { discoveryEntriesOf }: Catalog,
): Promise<ApiResponse> {
  const [root, first, second, ...rest] = scope.path.split("/").filter((segment) => segment !== "");
  if (rest.length > 0) throw statusError.pathNotFound();
  if (first === undefined)
    return serveRoot(request, definitions, root === "api", discoveryEntriesOf === undefined);
  const [group, version] = root === "api" ? ["", first] : [first, second];
  if (root === "api" && second !== undefined) throw statusError.pathNotFound();
  const name = `/${root}/${first}/${second ?? ""}`;
  const document = await render(definitions, name, function* () {
    if (version === undefined) return apiGroup(definitions, group);
    return yield* apiResourceList(definitions, group, version, discoveryEntriesOf);
  });
  if (document === undefined) throw statusError.pathNotFound();
  return jsonBytes(200, document.bytes);
}

/** /api and /apis are also available in the aggregated form; both or neither must have it. */
async function serveRoot(
  request: ApiRequest,
  definitions: Definitions,
  isCore: boolean,
  hasAggregated: boolean,
): Promise<ApiResponse> {
  const form = negotiate(header(request.headers, "accept"), { discovery: hasAggregated });
  if (form.as !== "discovery") {
    const host =
      header(request.headers, "host") ?? header(request.headers, ":authority") ?? "localhost";
    if (isCore) return jsonResponse(200, apiVersions(host));
    const groups = await render(definitions, "/apis", () => apiGroupList(definitions));
    return jsonBytes(200, (groups as Rendered).bytes);
  }
  const document = (await render(definitions, isCore ? "aggregated/api" : "aggregated/apis", () =>
    groupDiscoveryList(definitions, isCore),
  )) as Rendered;
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

/** Concurrent requests share one rendering. */
function render(
  definitions: Definitions,
  name: string,
  build: () => Resumable<JsonObject | undefined>,
): Promise<Rendered | undefined> {
  let documents = rendered.get(definitions);
  if (documents === undefined) {
    documents = new Map();
    rendered.set(definitions, documents);
  }
  const found = documents.get(name);
  if (found !== undefined) return found;
  const forget = () => documents.delete(name);
  const rendering = runYielding(encoded(build()));
  documents.set(name, rendering);
  // Missing documents are not cached: clients can request any name.
  rendering.then((document) => document ?? forget(), forget);
  return rendering;
}

function* encoded(work: Resumable<JsonObject | undefined>): Resumable<Rendered | undefined> {
  const value = yield* work;
  if (value === undefined) return undefined;
  const bytes = Buffer.from(yield* stringifyResumable(value));
  yield;
  const etag = `"${createHash("sha512").update(bytes).digest("hex").toUpperCase()}"`;
  return { bytes, etag };
}
