/**
 * /openapi/v3: an index of documents, one per group and version, each under a URL with its hash.
 * /openapi/v2: one document of all APIs, as JSON or as protobuf.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { jsonBytes, jsonResponse, jsonType } from "../content/index.ts";
import type { Catalog, ResourceDefinition } from "../registry/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  header,
  responseHeaders,
} from "../request/api-request.ts";
import type { PathScope } from "../request/request-scope.ts";
import type { EncodingV2 } from "./document-v2.ts";
import {
  type Document,
  type DocumentsV3,
  documentsV3,
  documentV2,
  pathDocuments,
} from "./documents.ts";
import { encodingV2, isJsonAccepted, protobufTypeV2 } from "./negotiate.ts";
import { issuerPaths } from "./path-documents.ts";

const v2Path = "/openapi/v2";
const v3Path = "/openapi/v3";

export function isOpenApiPath(path: string): boolean {
  return path === v2Path || path === v3Path || path.startsWith(`${v3Path}/`);
}

export async function serveOpenApi(
  request: ApiRequest,
  scope: PathScope,
  dependencies: OpenApiDependencies,
): Promise<ApiResponse> {
  const definitions = await dependencies.catalog.all(scope.cluster);
  return serveDocuments(request, scope, definitions, dependencies);
}

export interface OpenApiDependencies {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Set when the server publishes the keys of its own tokens. */
  readonly issuerDocuments?: object | undefined;
}

async function serveDocuments(
  request: ApiRequest,
  scope: PathScope,
  definitions: readonly ResourceDefinition[],
  dependencies: OpenApiDependencies,
): Promise<ApiResponse> {
  if (scope.path === v2Path) {
    // An unsupported encoding is rejected before a document is created.
    const encoding = encodingV2(header(request.headers, "accept"));
    return serveV2(request, await documentV2(definitions, encoding), encoding);
  }
  if (!isJsonAccepted(header(request.headers, "accept")))
    throw statusError.notAcceptable(["application/json"]);
  return serveV3(request, scope, await documentsV3(definitions), dependencies);
}

function serveV2(request: ApiRequest, document: Document, encoding: EncodingV2): ApiResponse {
  const type = encoding === "json" ? undefined : protobufTypeV2;
  return revalidated(request, responseOf(document, type), document.hash);
}

function serveV3(
  request: ApiRequest,
  { cluster, path, query, service }: PathScope,
  documents: DocumentsV3,
  { clock, issuerDocuments }: OpenApiDependencies,
): ApiResponse {
  const key = path.slice(v3Path.length).replace(/^\//, "");
  // Virtual workspaces do not serve the issuer documents.
  const isIssuer = issuerDocuments !== undefined && service === undefined;
  const others: DocumentsV3 = isIssuer ? pathDocuments(issuerPaths) : new Map();
  if (key === "") {
    const paths: { [key: string]: JsonObject } = {};
    const all = [...documents, ...others].sort(([one], [other]) => (one < other ? -1 : 1));
    for (const [name, { hash }] of all)
      paths[name] = { serverRelativeURL: `${v3Path}/${name}?hash=${hash}` };
    return jsonResponse(200, { paths });
  }
  const document = documents.get(key) ?? others.get(key);
  if (document === undefined) throw statusError.pathNotFound();
  const prefix = cluster === "root" ? "" : `/clusters/${cluster}`;
  return serveDocument(request, document, query.get("hash"), `${prefix}${path}`, clock);
}

const yearMs = 365 * 24 * 3_600_000;

/** A document under its hash never changes; a request with another hash is redirected. */
function serveDocument(
  request: ApiRequest,
  document: Document,
  asked: string | null,
  path: string,
  clock: Clock,
): ApiResponse {
  const { hash } = document;
  if (asked === null) return responseOf(document);
  if (asked !== hash)
    return { status: 301, headers: { location: `${path}?hash=${hash}` }, body: undefined };
  const response = responseOf(document);
  response.headers["cache-control"] = "public, immutable";
  response.headers["expires"] = new Date(clock.now() + yearMs).toUTCString();
  return revalidated(request, response, hash);
}

function responseOf({ parts }: Document, type?: string): ApiResponse {
  const [only, ...more] = parts;
  if (only === undefined || more.length === 0) return jsonBytes(200, only ?? Buffer.alloc(0), type);
  return { status: 200, headers: responseHeaders(type ?? jsonType), body: streamed(parts) };
}

async function* streamed(parts: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

function revalidated(request: ApiRequest, response: ApiResponse, hash: string): ApiResponse {
  const etag = `"${hash}"`;
  response.headers["etag"] = etag;
  response.headers["vary"] = "Accept";
  if (header(request.headers, "if-none-match") !== etag) return response;
  const { "content-type": _, ...headers } = response.headers;
  return { status: 304, headers, body: undefined };
}
