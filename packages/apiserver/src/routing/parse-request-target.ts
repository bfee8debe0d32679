/**
 * Parses the request line to a RequestScope: cluster prefix, API prefix, resource, verb.
 *
 * Pure. Each path segment is percent-decoded exactly once, and a segment that decodes to structural
 * characters (a slash, a percent sign, `.` or `..`) is rejected, so that no spelling of a path
 * reaches another tenant.
 */
import { type ClusterPath, parseClusterReference, rootCluster } from "@kcp-ts/machinery/names";
import { parseFieldSelector, SelectorSyntaxError } from "@kcp-ts/machinery/selectors";
import { statusError } from "@kcp-ts/machinery/status";
import { isTrue } from "../request/api-request.ts";
import {
  type ClusterScope,
  type RequestScope,
  type ServiceScope,
  unresolvedCluster,
  type Verb,
} from "../request/request-scope.ts";

/** Parses a path below `/services/` to its view; undefined when there is none. */
export type SplitService = (
  rawPath: string,
  decode: (segment: string) => string,
) => ServiceSplit | undefined;

export interface ServiceSplit {
  readonly service: ServiceScope;
  readonly cluster: ClusterScope;
  readonly path: string;
}

export interface RequestTarget {
  readonly method: string;
  readonly target: string;
  /** The value of `X-Kubernetes-Cluster`, if sent. */
  readonly clusterHeader: string | undefined;
}

const remembered = new Map<string, RequestScope>();
const rememberedMax = 1000;
const rememberedLengthMax = 256;

/**
 * Creates use the same few paths repeatedly, so their scopes are cached. Scopes are read-only, and
 * depend on the two strings only, except for views, which differ per server.
 */
export function parseRequestTarget(given: RequestTarget, split?: SplitService): RequestScope {
  const { method, target, clusterHeader } = given;
  const isRemembered =
    method === "POST" && clusterHeader === undefined && target.length <= rememberedLengthMax;
  if (!isRemembered || target.startsWith(servicesPrefix)) return parse(given, split);
  const known = remembered.get(target);
  if (known !== undefined) return known;
  const scope = parse(given, split);
  if (target.includes("?")) return scope;
  if (remembered.size >= rememberedMax) remembered.clear();
  remembered.set(target, scope);
  return scope;
}

/** Drops the cached scopes of a deleted logical cluster. */
export function forgetClusterTargets(): void {
  remembered.clear();
}

function parse(
  { method, target, clusterHeader }: RequestTarget,
  split: SplitService | undefined,
): RequestScope {
  const mark = target.indexOf("?");
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? noQuery : new URLSearchParams(target.slice(mark + 1));
  if (!rawPath.startsWith("/"))
    throw statusError.badRequest("the request path must start with a slash");

  const view = rawPath.startsWith(servicesPrefix) ? split?.(rawPath, decodeSegment) : undefined;
  const place =
    view === undefined
      ? splitCluster(rawPath, clusterHeader)
      : { ...view, clusterPath: undefined, isClusterImplicit: false };
  const { cluster, clusterPath, isClusterImplicit, service, path } = place;
  const segments = path.split("/");
  // Leading slash: the first element is empty.
  if (segments[1] === "api" || segments[1] === "apis") {
    const scope = parseResource({ method, place, query, segments });
    if (scope !== undefined) return scope;
  }
  return {
    kind: "path",
    cluster,
    clusterPath,
    isClusterImplicit,
    service,
    path: decodePath(path),
    query,
    verb: method.toLowerCase(),
  };
}

const noQuery = new URLSearchParams();
const servicesPrefix = "/services/";
const clusterPathPrefix = "/clusters/";

/**
 * The cluster of a request, and its path there. Every scope is created with all of its members, so
 * that all scopes have one hidden class: property reads in nearly every stage stay monomorphic.
 */
interface TargetCluster {
  readonly cluster: ClusterScope;
  readonly clusterPath: ClusterPath | undefined;
  readonly isClusterImplicit: boolean;
  readonly service: ServiceScope | undefined;
  readonly path: string;
}

/** The request target without its cluster prefix, with a leading slash. */
export function stripClusterPrefix(target: string): string {
  if (!target.startsWith(clusterPathPrefix)) return target;
  const rest = target.slice(clusterPathPrefix.length);
  const end = rest.search(/[/?]/);
  if (end < 0) return "/";
  return rest[end] === "/" ? rest.slice(end) : `/${rest.slice(end)}`;
}

function splitCluster(rawPath: string, clusterHeader: string | undefined): TargetCluster {
  if (!rawPath.startsWith(clusterPathPrefix)) {
    if (clusterHeader !== undefined && clusterHeader !== "")
      return targetCluster(clusterHeader, rawPath);
    return {
      cluster: rootCluster,
      clusterPath: undefined,
      isClusterImplicit: true,
      service: undefined,
      path: rawPath,
    };
  }
  const end = rawPath.indexOf("/", clusterPathPrefix.length);
  const encoded = rawPath.slice(clusterPathPrefix.length, end < 0 ? undefined : end);
  const path = end < 0 ? "/" : rawPath.slice(end);
  const text = decodeSegment(encoded);
  const place = targetCluster(text, path);
  if (clusterHeader !== undefined && clusterHeader !== "" && clusterHeader !== text) {
    throw statusError.badRequest(
      `the cluster in the path (${text}) and in X-Kubernetes-Cluster (${clusterHeader}) differ`,
    );
  }
  // Only the first prefix names a cluster; a second one is neither a resource nor a path of the
  // server.
  if (path === "/clusters" || path.startsWith(clusterPathPrefix)) throw statusError.pathNotFound();
  return place;
}

function targetCluster(text: string, path: string): TargetCluster {
  const reference = text === "*" ? text : parseClusterReference(text);
  if (reference === undefined)
    throw statusError.badRequest(
      `invalid cluster: ${JSON.stringify(text)} does not match the regex`,
    );
  const isName = typeof reference === "string";
  return {
    cluster: isName ? reference : unresolvedCluster,
    clusterPath: isName ? undefined : reference,
    isClusterImplicit: false,
    service: undefined,
    path,
  };
}

interface ResourceInput {
  readonly method: string;
  readonly place: TargetCluster;
  readonly query: URLSearchParams;
  readonly segments: readonly string[];
}

/** Fewer segments than a resource needs are discovery documents: undefined. */
function parseResource({
  method,
  place,
  query,
  segments,
}: ResourceInput): RequestScope | undefined {
  const isCore = segments[1] === "api";
  let at = isCore ? 3 : 4;
  if (segments.length <= at || (segments.length === at + 1 && segments[at] === ""))
    return undefined;
  const group = isCore ? "" : decodeSegment(segments[2] as string);
  const version = decodeSegment(segments[isCore ? 2 : 3] as string);

  let isWatchPath = false;
  if (segments[at] === "watch" && segments.length > at + 1) {
    isWatchPath = true;
    at++;
  }
  const rest = segments.slice(at).map(decodeSegment);
  if (rest.at(-1) === "" && rest.length > 1) rest.pop();
  // An empty segment is invalid: `namespaces//secrets` must not mean the secrets of all namespaces.
  if (version === "" || (!isCore && group === "") || rest.includes(""))
    throw statusError.pathNotFound();
  const located = parseResourcePath(rest);
  if (located === undefined) throw statusError.pathNotFound();
  const { resource, subresource, namespace } = located;
  let { name } = located;

  const verb = verbOf({ method, hasName: name !== "", query, isWatchPath });
  if (verb === undefined) throw statusError.methodNotAllowedHere();
  if ((verb === "list" || verb === "watch") && name === "")
    name = nameFromFieldSelector(query) ?? "";
  const { cluster, clusterPath, isClusterImplicit, service, path } = place;
  return {
    kind: "resource",
    cluster,
    clusterPath,
    isClusterImplicit,
    service,
    path,
    query,
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
  };
}

interface ResourcePath {
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const namespaceSubresources = new Set(["status", "finalize"]);

function parseResourcePath(rest: readonly string[]): ResourcePath | undefined {
  const [first, second, third, fourth, fifth, ...more] = rest as [string, ...string[]];
  if (more.length > 0) return undefined;
  if (first === "namespaces" && second !== undefined) {
    if (third === undefined || (namespaceSubresources.has(third) && fourth === undefined)) {
      // A Namespace object is in its own namespace, so that a Role in it can grant access to it.
      return { resource: "namespaces", subresource: third ?? "", namespace: second, name: second };
    }
    return { resource: third, subresource: fifth ?? "", namespace: second, name: fourth ?? "" };
  }
  if (fourth !== undefined) return undefined;
  return { resource: first, subresource: third ?? "", namespace: "", name: second ?? "" };
}

interface VerbInput {
  readonly method: string;
  readonly hasName: boolean;
  readonly query: URLSearchParams;
  readonly isWatchPath: boolean;
}

function verbOf({ method, hasName, query, isWatchPath }: VerbInput): Verb | undefined {
  if (isWatchPath) return method === "GET" || method === "HEAD" ? "watch" : undefined;
  switch (method) {
    case "GET":
    case "HEAD":
      if (hasName) return "get";
      return isTrue(query.get("watch")) ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return hasName ? "delete" : "deletecollection";
    default:
      return undefined;
  }
}

/**
 * `fieldSelector=metadata.name=x` sets the name of the request, so that rules with resourceNames
 * apply to it.
 */
function nameFromFieldSelector(query: URLSearchParams): string | undefined {
  const selector = query.get("fieldSelector");
  if (selector === null) return undefined;
  try {
    return parseFieldSelector(selector).exactValue("metadata.name");
  } catch (error) {
    // The handler rejects the selector with Kubernetes' error message.
    if (error instanceof SelectorSyntaxError) return undefined;
    throw error;
  }
}

function decodeSegment(segment: string): string {
  let decoded = segment;
  if (segment.includes("%")) {
    try {
      decoded = decodeURIComponent(segment);
    } catch (error) {
      if (!(error instanceof URIError)) throw error;
      throw statusError.badRequest(
        `the path segment ${JSON.stringify(segment)} is not valid percent-encoding`,
      );
    }
  }
  if (
    decoded === "." ||
    decoded === ".." ||
    decoded.includes("/") ||
    decoded.includes("%") ||
    decoded.includes("\0")
  ) {
    throw statusError.badRequest(`invalid path segment ${JSON.stringify(decoded)}`);
  }
  return decoded;
}

function decodePath(path: string): string {
  return path.includes("%") ? path.split("/").map(decodeSegment).join("/") : path;
}
