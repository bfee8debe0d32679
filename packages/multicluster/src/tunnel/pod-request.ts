/**
 * A request about one Pod, as it travels from the control plane to the cluster that the Pod runs in.
 *
 * It names the Pod by what the control plane knows of it: where it is upstream, and its uid in the cluster, or upstream if it was sent from there. Namespaces
 * of the cluster, paths and credentials are never part of it: whoever is in the cluster computes them. Only what is on these lists goes along.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";

/** What can be asked of a Pod, and which parts of a query mean something there. */
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
export const podSubresources = Object.keys(parameters) as readonly PodSubresource[];

export function isPodSubresource(text: string): text is PodSubresource {
  return Object.hasOwn(parameters, text);
}

/** Which Pod. */
export interface PodReference {
  /** Of the Pod, upstream. */
  readonly cluster: ClusterName;
  readonly namespace: string;
  /** In the cluster, as is the uid; of what was sent there, upstream. */
  readonly name: string;
  readonly uid: string;
  /** It was made upstream. Agents that know nothing of this find no Pod of such a uid. */
  readonly isSent?: boolean;
}

export interface PodRequest extends PodReference {
  readonly subresource: PodSubresource;
  readonly method: "GET" | "POST";
  readonly query: readonly (readonly [string, string])[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Nothing that says who somebody is. */
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

/** Browsers put their token among the protocols. It is for us, and for nobody else. */
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

/** What of a query means something to the subresource, in the order in which it was sent: `command` is a list. */
export function forwardedQuery(
  subresource: PodSubresource,
  query: Iterable<readonly [string, string]>,
): readonly (readonly [string, string])[] {
  const known: readonly string[] = parameters[subresource];
  return [...query].filter(([name]) => known.includes(name));
}

/** Names of objects; what is one of them is nothing else in a path. */
const namePattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** A request as it came over a wire; undefined when it is none. Whoever sent it is not believed more than anybody. */
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
  const { cluster, namespace, name, uid, isSent } = value as Record<string, JsonValue | undefined>;
  const parsed = typeof cluster === "string" ? parseClusterName(cluster) : undefined;
  if (parsed === undefined || !isName(namespace) || !isName(name)) return undefined;
  if (typeof uid !== "string" || uid === "") return undefined;
  return { cluster: parsed, namespace, name, uid, ...(isSent === true ? { isSent } : {}) };
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
