/**
 * The front proxy of a shard: a request for a logical cluster of another shard is sent on with what
 * the client has proved, and the shard that has the cluster authenticates, authorizes and serves
 * it. Nothing that a client sends selects an identity or is taken for a shard's word: both come
 * with the connection between shards, whose certificate the listener has checked.
 */
import type { X509Certificate } from "node:crypto";
import { statusResponse, toStatusError } from "@kcp-ts/apiserver/content";
import {
  type ApiRequest,
  type ApiResponse,
  header,
  type MaybePromise,
  requestedUpgrade,
} from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import { stripClusterPrefix } from "@kcp-ts/apiserver/routing";
import { bounds, isBoundExceeded, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, JsonSyntaxError } from "@kcp-ts/machinery/json";
import {
  type ClusterName,
  type ClusterPath,
  parseClusterReference,
  rootCluster,
} from "@kcp-ts/machinery/names";
import { isStatusError, StatusError, statusError } from "@kcp-ts/machinery/status";
import { headersTextOf } from "./headers-text.ts";
import { linkMethods } from "./link-frames.ts";
import type { RequestOfShard, Served } from "./link-server.ts";
import {
  type LocalDestination,
  type MoveDestination,
  movesPrefix,
  serveDestination,
} from "./move-destination.ts";
import type { MoveGate } from "./move-gate.ts";
import type { PathResolution, RemotePaths } from "./remote-paths.ts";
import type { RouteTable } from "./route-table.ts";
import type { ShardMesh } from "./shard-mesh.ts";
import { unavailable } from "./shard-mesh.ts";
import { operationPrefix, type ShardOperations } from "./shard-operations.ts";

export type Here = (request: ApiRequest) => MaybePromise<ApiResponse>;

export interface FrontProxyOptions {
  readonly routes: RouteTable;
  readonly mesh: ShardMesh;
  readonly paths: RemotePaths;
  readonly operations: ShardOperations;
  readonly resolve: (path: ClusterPath) => MaybePromise<PathResolution>;
  /** Undefined where this shard has no such cluster. */
  readonly logicalCluster: (cluster: ClusterName) => MaybePromise<object | undefined>;
  /** The users whose credentials only this process knows: its own in-process clients. */
  readonly processUser?: ((authorization: string) => UserInfo | undefined) | undefined;
  /** Holds back writes of clusters that are about to move. */
  readonly gate: Pick<MoveGate, "enter">;
  /** The steps of moves to this shard. */
  readonly destination: MoveDestination & Pick<LocalDestination, "hasArrived">;
  /** Called with each request that was sent on. */
  readonly onForwarded?: ((shard: string, status: number) => void) | undefined;
}

/** How many shards may send a request on. */
const hopsMax = 3;
/** Set in the number of hops: answer "unknown" for a cluster that does not exist. */
const onlyIfKnown = 0x80;
/** The size of the largest body that any handler reads. */
const bodyBytesMax = 3 << 20;
const shardsPrefix = "/shards/";
const clustersPrefix = "/clusters/";

/** Where a request leads. */
interface Destination {
  readonly shard: string;
  /** Undefined where a request names a shard and not a cluster. */
  readonly cluster: ClusterName | undefined;
  readonly target: string;
  /** The name was found by a path, which may be out of date. */
  readonly isByPath: boolean;
}

export class FrontProxy {
  readonly #options: FrontProxyOptions;

  constructor(options: FrontProxyOptions) {
    this.#options = options;
  }

  /** Serves a request of a client here, or sends it on. */
  readonly forward = (request: ApiRequest, here: Here): MaybePromise<ApiResponse> => {
    const { target } = request;
    const { ownName } = this.#options.routes;
    if (!linkMethods.includes(request.method)) return here(request);
    if (target.startsWith(shardsPrefix)) return this.#forwardToShard(request, here);
    const reference = referenceOf(request, ownName);
    if (reference === undefined) return here(request);
    if (typeof reference === "string") {
      const shard = this.#shardOf(reference);
      if (shard === undefined || !this.#options.mesh.has(shard))
        return this.#enter(request, reference, here, () => this.forward(request, here));
      const destination = { shard, cluster: reference, isByPath: false };
      return this.#send(request, here, { ...destination, target: targetIn(reference, target) }, 0);
    }
    return this.#forwardPath(request, here, reference, 0);
  };

  /** Serves a request that another shard has sent. */
  readonly serve = (request: RequestOfShard, here: Here): MaybePromise<Served> => {
    const { target, hops, isOfShard } = request;
    if (isOfShard && target.startsWith(movesPrefix))
      return serveDestination(request, this.#options.destination);
    if (isOfShard && target.startsWith(operationPrefix))
      return this.#options.operations.serve(request);
    const reference = referenceOf(request, undefined);
    if (reference === undefined) return here(request);
    if (typeof reference !== "string")
      return this.#forwardPath(request, here, reference, hops & ~onlyIfKnown);
    const { routes, logicalCluster, mesh } = this.#options;
    const shard = this.#shardOf(reference);
    if (shard !== undefined && mesh.has(shard)) {
      const movedTo = routes.routeOf(reference);
      return movedTo === undefined ? statusResponse(notHere(reference)) : { movedTo };
    }
    const enter = () => this.#enter(request, reference, here, () => this.serve(request, here));
    if ((hops & onlyIfKnown) === 0) return enter();
    const known = logicalCluster(reference);
    if (known instanceof Promise)
      return known.then((one) => (one === undefined ? "unknown" : enter()));
    return known === undefined ? "unknown" : enter();
  };

  #shardOf(cluster: ClusterName): string | undefined {
    const { routes, destination } = this.#options;
    const shard = routes.shardOf(cluster);
    return shard !== undefined && destination.hasArrived(cluster) ? undefined : shard;
  }

  /** Serves a request here; a write that is held back by a move is looked at again after it. */
  #enter<Result>(
    request: ApiRequest,
    cluster: ClusterName,
    here: Here,
    again: () => MaybePromise<Result>,
  ): MaybePromise<ApiResponse | Result> {
    const entered = this.#options.gate.enter(cluster, request.method);
    if (entered === undefined) return here(request);
    if (entered instanceof Promise)
      return entered.then(again, (error: unknown) => statusResponse(toStatusError(error)));
    const served = here(request);
    if (!(served instanceof Promise)) entered();
    else served.then(entered, entered);
    return served;
  }

  #forwardPath(
    request: ApiRequest,
    here: Here,
    path: ClusterPath,
    hops: number,
  ): MaybePromise<ApiResponse> {
    const found = this.#options.resolve(path);
    const next = (resolution: PathResolution) =>
      this.#forwardResolved(request, here, { resolution, hops });
    if (!(found instanceof Promise)) return next(found);
    return found.then(next, (error: unknown) => statusResponse(toStatusError(error)));
  }

  #forwardResolved(
    request: ApiRequest,
    here: Here,
    { resolution, hops }: ResolvedPath,
  ): MaybePromise<ApiResponse> {
    const { mesh, logicalCluster, paths } = this.#options;
    // A mount is entered by the rules of the cluster that has it.
    const cluster =
      resolution.kind === "cluster"
        ? resolution.cluster
        : resolution.kind === "mount"
          ? resolution.parent
          : undefined;
    if (cluster === undefined) return here(request);
    const shard = this.#shardOf(cluster);
    if (shard !== undefined && mesh.has(shard)) {
      const { target } = request;
      const isCluster = resolution.kind === "cluster";
      const destination = { shard, cluster: isCluster ? cluster : undefined, isByPath: isCluster };
      const sent = isCluster ? targetIn(cluster, target) : target;
      return this.#send(request, here, { ...destination, target: sent }, hops);
    }
    if (resolution.kind !== "cluster") return here(request);
    const enter = () =>
      this.#enter(request, cluster, here, () =>
        this.#forwardResolved(request, here, { resolution, hops }),
      );
    // The path may lead through another shard and back, and be out of date.
    const known = logicalCluster(cluster);
    const checked = (one: object | undefined) => {
      if (one === undefined) paths.forget(cluster);
      return enter();
    };
    return known instanceof Promise ? known.then(checked) : checked(known);
  }

  /** `/shards/<name>/…` is what that shard serves itself. */
  #forwardToShard(request: ApiRequest, here: Here): MaybePromise<ApiResponse> {
    const rest = request.target.slice(shardsPrefix.length);
    const end = rest.search(/[/?]/);
    const shard = end < 0 ? rest : rest.slice(0, end);
    const below = end < 0 ? "/" : rest[end] === "/" ? rest.slice(end) : `/${rest.slice(end)}`;
    const { routes, mesh } = this.#options;
    if (shard === routes.ownName) return here(withTarget(request, below));
    if (!mesh.has(shard) || below.startsWith(operationPrefix)) return here(request);
    const destination = { shard, cluster: undefined, target: below, isByPath: false };
    return this.#send(request, here, destination, 0);
  }

  async #send(
    request: ApiRequest,
    here: Here,
    destination: Destination,
    hopsBefore: number,
  ): Promise<ApiResponse> {
    let { shard } = destination;
    let { isByPath } = destination;
    const { cluster, target } = destination;
    const { routes, mesh, paths, onForwarded } = this.#options;
    try {
      for (let hops = hopsBefore + 1; hops <= hopsMax; hops++) {
        const answer = await mesh.send(shard, {
          ...this.#contentOf(request),
          target,
          hops: isByPath ? hops | onlyIfKnown : hops,
        });
        if (answer === "not-sent") continue;
        if (answer === "unknown") {
          // The path leads elsewhere now, or nowhere.
          if (cluster !== undefined) paths.forget(cluster);
          if (!isByPath || cluster === undefined) return here(request);
          routes.forget(cluster);
          isByPath = false;
          const again = await this.#resolveAgain(request);
          if (again === undefined || again.cluster !== cluster) return this.forward(request, here);
        } else if ("movedTo" in answer) {
          if (cluster === undefined) break;
          routes.learn(cluster, answer.movedTo);
          shard = answer.movedTo.shard;
          if (shard === routes.ownName) return here(request);
          if (!mesh.has(shard)) throw unavailable(shard);
        } else {
          onForwarded?.(shard, answer.status);
          return answer;
        }
      }
      throw statusError.unavailable(`the shard of ${cluster ?? target} is not found`);
    } catch (error) {
      const failure = error instanceof StatusError ? error : unavailable(shard);
      onForwarded?.(shard, isStatusError(failure) ? (failure.status.code ?? 503) : 503);
      return statusResponse(toStatusError(failure), header(request.headers, "accept"));
    }
  }

  async #resolveAgain(request: ApiRequest): Promise<{ readonly cluster: ClusterName } | undefined> {
    const reference = referenceOf(request, undefined);
    if (reference === undefined || typeof reference === "string") return undefined;
    const found = await this.#options.resolve(reference);
    return found.kind === "cluster" ? found : undefined;
  }

  #contentOf(request: ApiRequest) {
    const authorization = header(request.headers, "authorization");
    const user =
      request.vouchedUser ??
      (authorization === undefined ? undefined : this.#options.processUser?.(authorization));
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    return {
      method: request.method,
      headersText: headersTextOf(request, {
        isUpgrade: requestedUpgrade(request.headers) !== undefined,
        hasCredentials: user === undefined,
      }),
      senderText: senderTextOf(request, user),
      readBody: hasBody ? () => request.readBody(bodyBytesMax) : undefined,
      onClose: (callback: () => void) => request.onClose(callback),
    };
  }
}

interface ResolvedPath {
  readonly resolution: PathResolution;
  readonly hops: number;
}

/**
 * The cluster that a request names, or the path to it; undefined where this process answers: for
 * what belongs to the process, what is invalid, and `*`.
 */
function referenceOf(
  { target, headers }: ApiRequest,
  ownName: string | undefined,
): ClusterName | ClusterPath | undefined {
  const named = header(headers, "x-kubernetes-cluster");
  if (!target.startsWith(clustersPrefix)) {
    if (named !== undefined && named !== "")
      return target.startsWith("/services/") ? undefined : parseClusterReference(named);
    if (ownName === undefined || !isOfCluster(target)) return undefined;
    return clusterOfToken(header(headers, "authorization")) ?? rootCluster;
  }
  let end = clustersPrefix.length;
  for (; end < target.length; end++) {
    const code = target.charCodeAt(end);
    if (code === 47 || code === 63) break;
  }
  const text = decoded(target.slice(clustersPrefix.length, end));
  if (named !== undefined && named !== "" && named !== text) return undefined;
  return text === undefined ? undefined : parseClusterReference(text);
}

/** What has no cluster in its path is in root, but for what every process answers itself. */
function isOfCluster(target: string): boolean {
  return (
    target.startsWith("/api/") ||
    target.startsWith("/apis/") ||
    target.startsWith("/openapi/") ||
    /^\/apis?(?:\?|$)/.test(target)
  );
}

function decoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/**
 * Clients inside of Pods name no cluster: the one that their token names is meant. The token is
 * verified by the shard that has that cluster.
 */
function clusterOfToken(authorization: string | undefined): ClusterName | undefined {
  const [, claims] = /^bearer\s+[\w-]+\.([\w-]+)\.[\w-]+$/i.exec(authorization ?? "") ?? [];
  if (claims === undefined) return undefined;
  try {
    const parsed = parseBounded(bounds.token, Buffer.from(claims, "base64url"));
    if (!isJsonObject(parsed)) return undefined;
    const { "kubernetes.io": bound, "kubernetes.io/serviceaccount/clusterName": old } = parsed;
    const name = isJsonObject(bound) ? bound["clusterName"] : old;
    const reference = typeof name === "string" ? parseClusterReference(name) : undefined;
    return typeof reference === "string" ? reference : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError || isBoundExceeded(error)) return undefined;
    throw error;
  }
}

function targetIn(cluster: ClusterName, target: string): string {
  return `${clustersPrefix}${cluster}${stripClusterPrefix(target)}`;
}

function notHere(cluster: ClusterName): StatusError {
  return statusError.unavailable(`this shard does not have the logical cluster ${cluster}`);
}

function withTarget(request: ApiRequest, target: string): ApiRequest {
  const { method, headers, remoteAddress, clientCertificate, vouchedUser } = request;
  return {
    method,
    target,
    headers,
    remoteAddress,
    clientCertificate,
    vouchedUser,
    get rawHeaders() {
      return request.rawHeaders;
    },
    onAuthenticated: (username) => request.onAuthenticated?.(username),
    onClose: (callback) => request.onClose(callback),
    readBody: (bytesMax, onPart) => request.readBody(bytesMax, onPart),
  };
}

const certificateTexts = new WeakMap<X509Certificate, string>();

function senderTextOf(
  { remoteAddress, clientCertificate }: ApiRequest,
  user: UserInfo | undefined,
): string {
  if (user !== undefined) return JSON.stringify({ remoteAddress, user });
  if (clientCertificate === undefined) return `{"remoteAddress":${JSON.stringify(remoteAddress)}}`;
  let certificate = certificateTexts.get(clientCertificate);
  if (certificate === undefined) {
    certificate = clientCertificate.raw.toString("base64");
    certificateTexts.set(clientCertificate, certificate);
  }
  return JSON.stringify({ remoteAddress, certificate });
}
