/**
 * A replica of the server that is behind: its reads do not show the controller's last write, nor
 * what others wrote since. They are lists of an earlier version that the server still knows.
 */
import {
  responseBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "@kcp-ts/sdk";

export class StaleReplica {
  readonly #inner: Transport;
  /** The version before the controller's last write. */
  #version: string | undefined;
  /** What was read since that write: who reads again sees it. */
  readonly #readSince = new Set<string>();

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async beforeWrite({ path, headers }: TransportRequest): Promise<void> {
    const [prefix = ""] = /^\/clusters\/[^/]+/.exec(path) ?? [];
    const response = await this.#inner.send({
      method: "GET",
      path: `${prefix}/api/v1/namespaces?limit=1`,
      headers: { ...headers, accept: "application/json" },
    });
    if (response.status !== 200) return;
    const list = JSON.parse(await response.body.text()) as ListText;
    this.#version = list.metadata.resourceVersion;
    this.#readSince.clear();
  }

  /** Whether the answer may be another one than the server's own. */
  mayAnswer(request: TransportRequest): boolean {
    if (this.#version === undefined || staleRequest(request, this.#version) === undefined)
      return false;
    const isFirst = !this.#readSince.has(request.path);
    this.#readSince.add(request.path);
    return isFirst;
  }

  /** Undefined where the server does not know that version any more. */
  async answer(request: TransportRequest): Promise<TransportResponse | undefined> {
    const stale = staleRequest(request, this.#version ?? "");
    if (stale === undefined) return undefined;
    const response = await this.#inner.send(stale.request);
    if (response.status !== 200) return undefined;
    if (stale.name === undefined) return response;
    const list = JSON.parse(await response.body.text()) as ListText;
    const { apiVersion } = list;
    const kind = list.kind.replace(/List$/, "");
    const [item] = list.items;
    if (item === undefined) return notFound(response, stale.name);
    return { ...response, body: responseBody(JSON.stringify({ apiVersion, kind, ...item })) };
  }
}

interface ListText {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly object[];
}

interface StaleRequest {
  readonly request: TransportRequest;
  /** Of the object, if one is read. */
  readonly name: string | undefined;
}

const resourcePath =
  /^((?:\/clusters\/[^/]+|\/services(?:\/[^/]+)+?\/clusters\/[^/]+)?\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/(?!status$|finalize$))?[^/]+)(?:\/([^/]+))?$/;

/** The list that answers a get or a list; undefined for other reads. */
function staleRequest(request: TransportRequest, version: string): StaleRequest | undefined {
  const [path = "", text] = request.path.split("?");
  const accept = String(request.headers["accept"] ?? "");
  const query = new URLSearchParams(text);
  const [, collection, name] = resourcePath.exec(path) ?? [];
  if (collection === undefined || /;as=|protobuf/.test(accept) || query.has("continue"))
    return undefined;
  query.set("resourceVersion", version);
  query.set("resourceVersionMatch", "Exact");
  if (name !== undefined) query.set("fieldSelector", `metadata.name=${decodeURIComponent(name)}`);
  return { request: { ...request, path: `${collection}?${query}` }, name };
}

function notFound({ headers }: TransportResponse, name: string): TransportResponse {
  const message = `"${name}" not found on purpose: the replica is behind`;
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound" };
  return {
    status: 404,
    headers,
    body: responseBody(JSON.stringify({ ...status, metadata: {}, message, code: 404 })),
  };
}
