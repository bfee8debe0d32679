/**
 * /openapi/v3: an index of documents, one per group and version, each under a URL that changes with its content.
 *
 * Like discovery, documents belong to a list of definitions: clusters that serve the same share them.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { json, jsonBytes, toBytes } from "../content/index.ts";
import { apiVersionOf, type Catalog, type ResourceDefinition } from "../registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { PathScope } from "../request/request-scope.ts";
import { openApiDocument } from "./document.ts";

const indexes = new WeakMap<readonly ResourceDefinition[], ReadonlyMap<string, Served>>();

export function isOpenApiPath(path: string): boolean {
  return path === "/openapi/v3" || path.startsWith("/openapi/v3/");
}

export function serveOpenApi(
  _request: ApiRequest,
  scope: PathScope,
  catalog: Catalog,
): MaybePromise<ApiResponse> {
  const definitions = catalog.all(scope.cluster);
  return definitions instanceof Promise
    ? definitions.then((all) => serveAsked(scope, all))
    : serveAsked(scope, definitions);
}

function serveAsked(scope: PathScope, definitions: readonly ResourceDefinition[]): ApiResponse {
  const index = indexOf(definitions);
  const prefix = scope.cluster === "root" ? "" : `/clusters/${scope.cluster}`;
  const key = scope.path.slice("/openapi/v3".length).replace(/^\//, "");
  if (key === "") {
    const paths: { [key: string]: JsonObject } = {};
    for (const [name, { hash }] of index) {
      paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` };
    }
    return json(200, { paths });
  }
  const served = index.get(key);
  if (served === undefined) throw statusError.pathNotFound();
  return serveDocument(served, scope.query.get("hash"), `${prefix}${scope.path}`);
}

function serveDocument(
  { definitions, hash }: Served,
  asked: string | null,
  path: string,
): ApiResponse {
  const bytes = rendered(definitions);
  if (asked === null) return jsonBytes(200, bytes);
  if (asked !== hash)
    return { status: 301, headers: { location: `${path}?hash=${hash}` }, body: undefined };
  const response = jsonBytes(200, bytes);
  response.headers["cache-control"] = "public, immutable";
  response.headers["etag"] = `"${hash}"`;
  response.headers["vary"] = "Accept";
  return response;
}

interface Served {
  readonly definitions: readonly ResourceDefinition[];
  readonly hash: string;
}

/** The index of a list of definitions; documents are not made for it, but for built-ins. */
function indexOf(definitions: readonly ResourceDefinition[]): ReadonlyMap<string, Served> {
  let index = indexes.get(definitions);
  if (index === undefined) {
    const byVersion = new Map<string, ResourceDefinition[]>();
    for (const definition of definitions) {
      const key = `${definition.group === "" ? "api" : "apis"}/${apiVersionOf(definition)}`;
      const served = byVersion.get(key);
      if (served === undefined) byVersion.set(key, [definition]);
      else served.push(definition);
    }
    index = new Map(
      [...byVersion].map(([key, served]) => [key, { definitions: served, hash: hashOf(served) }]),
    );
    indexes.set(definitions, index);
  }
  return index;
}

function hashOf(definitions: readonly ResourceDefinition[]): string {
  const hash = createHash("sha512");
  for (const definition of definitions) {
    const { contentHash } = definition;
    if (contentHash === undefined) hash.update(rendered([definition]));
    else hash.update(`${contentHash}/${definition.version} `);
  }
  return hash.digest("hex").toUpperCase();
}

/** Bytes of documents that are kept; a document is made again in some milliseconds. */
const documentBytesMax = 32 << 20;
const documents = new Map<string, Buffer>();
let documentBytes = 0;

/** Definitions are the same objects wherever they are served, so equal lists share a document. */
const numbers = new WeakMap<ResourceDefinition, number>();
let lastNumber = 0;

function rendered(definitions: readonly ResourceDefinition[]): Buffer {
  const key = definitions.map(numberOf).join(" ");
  let bytes = documents.get(key);
  if (bytes === undefined) {
    bytes = toBytes(openApiDocument(definitions));
    documentBytes += bytes.length;
    for (const [oldest, { length }] of documents) {
      if (documentBytes <= documentBytesMax) break;
      documents.delete(oldest);
      documentBytes -= length;
    }
  } else {
    documents.delete(key);
  }
  documents.set(key, bytes);
  return bytes;
}

function numberOf(definition: ResourceDefinition): number {
  let number = numbers.get(definition);
  if (number === undefined) {
    number = ++lastNumber;
    numbers.set(definition, number);
  }
  return number;
}
