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
import { jsonBytes, jsonResponse, negotiate, sortedYaml } from "../content/index.ts";
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

const yamlType = "application/yaml";
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
  const { mediaType } = negotiate(header(request.headers, "accept"), {});
  const build = function* () {
    if (version === undefined) return apiGroup(definitions, group);
    return yield* apiResourceList(definitions, group, version, discoveryEntriesOf);
  };
  const document = await render(definitions, name, build, mediaType);
  if (document === undefined) throw statusError.pathNotFound();
  return jsonBytes(200, document.bytes, mediaType);
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
    const { mediaType } = form;
    if (isCore) {
      const versions = apiVersions(host);
      return mediaType === yamlType
        ? jsonBytes(200, Buffer.from(sortedYaml(versions)), mediaType)
        : jsonResponse(200, versions);
    }
    const build = () => apiGroupList(definitions);
    const groups = await render(definitions, "/apis", build, mediaType);
    return jsonBytes(200, (groups as Rendered).bytes, mediaType);
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
  path: string,
  build: () => Resumable<JsonObject | undefined>,
  mediaType = "application/json",
): Promise<Rendered | undefined> {
  const name = `${mediaType}${path}`;
  let documents = rendered.get(definitions);
  if (documents === undefined) {
    documents = new Map();
    rendered.set(definitions, documents);
  }
  const found = documents.get(name);
  if (found !== undefined) return found;
  const forget = () => documents.delete(name);
  const rendering = runYielding(encoded(build(), mediaType));
  documents.set(name, rendering);
  // Missing documents are not cached: clients can request any name.
  rendering.then((document) => document ?? forget(), forget);
  return rendering;
}

function* encoded(
  work: Resumable<JsonObject | undefined>,
  mediaType: string,
): Resumable<Rendered | undefined> {
  const value = yield* work;
  if (value === undefined) return undefined;
  const text = mediaType === yamlType ? sortedYaml(value) : yield* stringifyResumable(value);
  const bytes = Buffer.from(text);
  yield;
  const etag = `"${createHash("sha512").update(bytes).digest("hex").toUpperCase()}"`;
  return { bytes, etag };
}
