/** A request to the fake server, parsed from its path and query. */
import type { TransportRequest } from "../client/index.ts";

export interface FakeRequest {
  readonly method: string;
  readonly cluster: string;
  /** `group/version/resource`; the core group is empty. */
  readonly resource: string;
  readonly apiVersion: string;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: string;
}

const pathPattern =
  /^(?:\/clusters\/(?<cluster>[^/]+))?\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>[^/]+))?$/;

export function parseFakeRequest(request: TransportRequest): FakeRequest | undefined {
  const [path = "", query = ""] = request.path.split("?");
  const groups = pathPattern.exec(path)?.groups;
  if (groups === undefined) return undefined;
  const { cluster = "root", group = "", version = "", namespace = "", plural = "" } = groups;
  const { body = "", headers } = request;
  return {
    method: request.method,
    cluster,
    resource: `${group}/${version}/${plural}`,
    apiVersion: group === "" ? version : `${group}/${version}`,
    plural,
    namespace,
    name: groups["name"],
    subresource: groups["subresource"],
    query: new URLSearchParams(query),
    contentType: String(headers["content-type"] ?? "application/json"),
    body: typeof body === "string" ? body : new TextDecoder().decode(body),
  };
}

export function storeKey(
  resource: string,
  cluster: string,
  namespace: string,
  name: string,
): string {
  return `${resource}|${cluster}|${namespace}|${name}`;
}

export function parseStoreKey(key: string): {
  readonly resource: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
} {
  const [resource = "", cluster = "", namespace = "", name = ""] = key.split("|");
  return { resource, cluster, namespace, name };
}
