/**
 * A request about one Pod, as the control plane sends it to the Pod's cluster.
 *
 * The request identifies the Pod by what the control plane knows: its upstream location, and its
 * uid in the cluster, or its upstream uid if it was synced down. Downstream namespaces, paths and
 * credentials are never part of the request: the receiver in the cluster computes them. Only the
 * subresources, parameters and headers on these lists are sent.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";

/** The subresources of a Pod, and their query parameters. */
const parameters = {
  log: [
    "container",
    "follow",
    "limitBytes",
    "pretty",
    "previous",
    "sinceSeconds",
    "sinceTime",
    "stream",
    "tailLines",
    "timestamps",
  ],
  exec: ["command", "container", "stderr", "stdin", "stdout", "tty"],
  attach: ["container", "stderr", "stdin", "stdout", "tty"],
  portforward: ["ports"],
} as const;

export type PodSubresource = keyof typeof parameters;

export function isPodSubresource(text: string): text is PodSubresource {
  return Object.hasOwn(parameters, text);
}

/** The identity of the Pod. */
export interface PodReference {
  /** The logical cluster of the upstream Pod. */
  readonly cluster: ClusterName;
  readonly namespace: string;
  /** The name in the cluster, like the uid; both upstream for a downsynced Pod. */
  readonly name: string;
  readonly uid: string;
  /**
   * The Pod was created upstream. Older agents ignore the field and find no Pod with such a uid.
   */
  readonly isDownsynced?: boolean;
}

export interface PodRequest extends PodReference {
  readonly subresource: PodSubresource;
  readonly method: "GET" | "POST";
  readonly query: readonly (readonly [string, string])[];
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** No header that contains an identity. */
const forwardedHeaderNames = [
  "accept",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
  "upgrade",
  "x-stream-protocol-version",
] as const;
export const returnedHeaders = [
  "content-type",
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-protocol",
  "upgrade",
  "x-stream-protocol-version",
] as const;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export function pickHeaders(headers: Headers, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined) kept[name] = typeof value === "string" ? value : value.join(", ");
  }
  return kept;
}

/**
 * Browsers send their token as a subprotocol. It is for the control plane, and is not forwarded.
 */
const tokenProtocol = /^base64url\.bearer\.authorization\.k8s\.io\./i;

export function forwardedHeaders(headers: Headers): Record<string, string> {
  const { "sec-websocket-protocol": protocols, ...kept } = pickHeaders(
    headers,
    forwardedHeaderNames,
  );
  const offered = (protocols ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "" && !tokenProtocol.test(one));
  return {
    ...kept,
    ...(offered.length === 0 ? {} : { "sec-websocket-protocol": offered.join(", ") }),
    ...(kept["upgrade"] === undefined ? {} : { connection: "Upgrade" }),
  };
}

/** The query parameters of the subresource, in their original order: `command` is a list. */
export function forwardedQuery(
  subresource: PodSubresource,
  query: Iterable<readonly [string, string]>,
): readonly (readonly [string, string])[] {
  const known: readonly string[] = parameters[subresource];
  return [...query].filter(([name]) => known.includes(name));
}

/** Names of objects, which cannot contain other path segments. */
const namePattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Parses a serialized request; undefined when it is invalid. The sender is not trusted. */
export function readPodRequest(value: JsonValue): PodRequest | undefined {
  if (!isJsonObject(value)) return undefined;
  const { subresource, method, query, headers } = value as unknown as Record<
    string,
    JsonValue | undefined
  >;
  const of = readPodReference(value);
  if (of === undefined) return undefined;
  if (typeof subresource !== "string" || !isPodSubresource(subresource)) return undefined;
  if (method !== "GET" && method !== "POST") return undefined;
  if (!Array.isArray(query) || !query.every(isPair)) return undefined;
  if (headers === undefined || !isTexts(headers)) return undefined;
  return {
    ...of,
    subresource,
    method,
    query: forwardedQuery(subresource, query as unknown as [string, string][]),
    headers: forwardedHeaders(headers),
  };
}

export function readPodReference(value: JsonObject): PodReference | undefined {
  const { cluster, namespace, name, uid, isDownsynced } = value as Record<
    string,
    JsonValue | undefined
  >;
  const parsed = typeof cluster === "string" ? parseClusterName(cluster) : undefined;
  if (parsed === undefined || !isName(namespace) || !isName(name)) return undefined;
  if (typeof uid !== "string" || uid === "") return undefined;
  return {
    cluster: parsed,
    namespace,
    name,
    uid,
    ...(isDownsynced === true ? { isDownsynced } : {}),
  };
}

export function isName(value: unknown): value is string {
  return typeof value === "string" && namePattern.test(value) && !value.includes("..");
}

function isPair(value: JsonValue): boolean {
  return (
    Array.isArray(value) && value.length === 2 && value.every((one) => typeof one === "string")
  );
}

export function isTexts(value: JsonValue): value is JsonObject & Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((one) => typeof one === "string");
}
