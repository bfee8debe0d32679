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

interface Document {
  readonly bytes: Buffer;
  readonly hash: string;
}

const documentsOf = new WeakMap<readonly ResourceDefinition[], ReadonlyMap<string, Document>>();

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
  const documents = render(definitions);
  const prefix = scope.cluster === "root" ? "" : `/clusters/${scope.cluster}`;
  const key = scope.path.slice("/openapi/v3".length).replace(/^\//, "");
  if (key === "") {
    const paths: { [key: string]: JsonObject } = {};
    for (const [name, { hash }] of documents) {
      paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` };
    }
    return json(200, { paths });
  }
  const document = documents.get(key);
  if (document === undefined) throw statusError.pathNotFound();
  return serveDocument(document, scope.query.get("hash"), `${prefix}${scope.path}`);
}

function serveDocument({ bytes, hash }: Document, asked: string | null, path: string): ApiResponse {
  if (asked === null) return jsonBytes(200, bytes);
  if (asked !== hash)
    return { status: 301, headers: { location: `${path}?hash=${hash}` }, body: undefined };
  const response = jsonBytes(200, bytes);
  response.headers["cache-control"] = "public, immutable";
  response.headers["etag"] = `"${hash}"`;
  response.headers["vary"] = "Accept";
  return response;
}

function render(definitions: readonly ResourceDefinition[]): ReadonlyMap<string, Document> {
  let documents = documentsOf.get(definitions);
  if (documents === undefined) {
    const byVersion = new Map<string, ResourceDefinition[]>();
    for (const definition of definitions) {
      const key = `${definition.group === "" ? "api" : "apis"}/${apiVersionOf(definition)}`;
      byVersion.set(key, [...(byVersion.get(key) ?? []), definition]);
    }
    documents = new Map(
      [...byVersion].map(([key, served]) => {
        const bytes = toBytes(openApiDocument(served));
        return [
          key,
          { bytes, hash: createHash("sha512").update(bytes).digest("hex").toUpperCase() },
        ];
      }),
    );
    documentsOf.set(definitions, documents);
  }
  return documents;
}
