/**
 * PodConnections: finds the connection into the cluster of a Pod, from the Pod as the control plane
 * stores it.
 *
 * A label names the SyncTarget, whose uid must be the one that the Pod was synced up from: a later
 * SyncTarget of the same name reaches no Pods of the former one. A Pod that was created upstream
 * runs where its per-cluster object was synced to (`pod-location.ts`).
 *
 * Users of another workspace's clusters have other names for them. These names are resolved for
 * each request, because exports end; and such users see errors that concern their Pods, not the
 * state of the connection to another owner's cluster.
 */
import { bounds, isBoundExceeded, parseBounded } from "@kcp-ts/machinery/bounds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { JsonSyntaxError } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { isSharedTargetName } from "../api/index.ts";
import type { Targets } from "../registration/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";
import type { DownsyncedPods } from "./downsynced-pods.ts";
import type { PeerRouter } from "./peer-router.ts";
import { type PodLocation, type ResolvedPod, resolvePod, servingCopy } from "./pod-location.ts";
import { type PodConnector, PodProxy, type PodResponse } from "./pod-proxy.ts";
import {
  forwardedHeaders,
  forwardedQuery,
  isName,
  type PodRequest,
  type PodSubresource,
} from "./pod-request.ts";
import type { Tunnels } from "./tunnels.ts";

export interface PodConnectionsOptions {
  /** Clusters that this process is connected to. */
  readonly targets: Targets;
  /** Clusters whose agents are connected to this process. */
  readonly tunnels: Tunnels;
  /**
   * Resolves the name of a SyncTarget in another logical cluster; undefined when none is exported.
   * No clusters of others can be used if omitted.
   */
  readonly sharedTarget?: SharedTarget | undefined;
  /** Other servers of this control plane; none if omitted. */
  readonly peers?: Pick<PeerRouter, "connectorTo"> | undefined;
  /** The stored state of Pods that were created upstream; these have no location if omitted. */
  readonly downsyncedPods?: DownsyncedPods | undefined;
  /** The limit on open sessions of one logical cluster. */
  readonly sessionsPerClusterMax?: number | undefined;
}

export type SharedTarget = (
  cluster: ClusterName,
  name: string,
  signal: AbortSignal,
) => Promise<SyncTargetReference | undefined>;

/** The logical cluster and the name of a SyncTarget. */
export interface SyncTargetReference {
  readonly cluster: ClusterName;
  readonly name: string;
}

export interface PodConnectionRequest {
  readonly cluster: ClusterName;
  /** The Pod as it is stored upstream. */
  readonly pod: KubernetesObject;
  readonly subresource: PodSubresource;
  readonly method: "GET" | "POST";
  readonly query: URLSearchParams;
  /** The headers of the client; only few are forwarded. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Aborts the request; an open session ends with its connection. */
  readonly signal: AbortSignal;
}

/** The requester's logical cluster and signal. */
type From = Pick<PodConnectionRequest, "cluster" | "signal">;

export interface MetricsConnectionRequest {
  readonly from: From;
  readonly location: PodLocation;
  /** The upstream namespace. */
  readonly namespace: string;
  /** The name of one Pod in the cluster. */
  readonly name?: string | undefined;
}

export const sessionsPerClusterMaxDefault = 256;

export class PodConnections {
  readonly #options: PodConnectionsOptions;
  readonly #open = new Map<ClusterName, number>();

  constructor(options: PodConnectionsOptions) {
    this.#options = options;
  }

  /** The session counts against the limit until `done` of the response is called. */
  async open(call: PodConnectionRequest): Promise<PodResponse & { readonly done: () => void }> {
    const place = await this.#placeOfPod(call);
    const request = requestOf(call, place);
    const { location } = place;
    const way = await this.#wayTo(call, location, `pod ${JSON.stringify(call.pod.metadata.name)}`);
    const done = this.#count(call.cluster);
    try {
      return { ...(await way.open(request, call.signal)), done };
    } catch (error) {
      done();
      throw isSharedTargetName(location.target) ? asShownToTenants(error, location.target) : error;
    }
  }

  /** Adds ephemeral containers to a Pod, and returns all that it has then. */
  async addContainers(
    call: Pick<PodConnectionRequest, "cluster" | "pod" | "signal">,
    patch: JsonObject,
    isDryRun: boolean,
  ): Promise<readonly JsonValue[]> {
    const { location, ...inside } = await this.#placeOfPod(call);
    const { name, namespace = "" } = call.pod.metadata;
    if (!isName(inside.name) || !isName(namespace)) throw podNotRunning(name);
    const way = await this.#wayTo(call, location, `pod ${JSON.stringify(name)}`);
    const { cluster, signal } = call;
    const of = { cluster, namespace, ...inside };
    try {
      const answer = await way.open({ ephemeral: patch, isDryRun, ...of }, signal);
      const containers = containersOf(await wholeText(answer));
      // A Pod that was created upstream is shown as it is stored here, which does not contain the
      // new containers yet.
      if (inside.isDownsynced && !isDryRun)
        await this.#options.downsyncedPods?.showContainers(cluster, call.pod, containers, signal);
      return containers;
    } catch (error) {
      throw isSharedTargetName(location.target) ? asShownToTenants(error, location.target) : error;
    }
  }

  /**
   * The metrics of a namespace's Pods in one cluster, as the cluster returns them: PodMetrics as
   * JSON.
   */
  async metrics({
    from,
    location,
    namespace,
    name,
  }: MetricsConnectionRequest): Promise<AsyncIterable<Uint8Array>> {
    const way = await this.#wayTo(from, location, "what Pods use");
    try {
      const request = { metrics: "pods", cluster: from.cluster, namespace, name } as const;
      return bodyOf(await way.open(request, from.signal));
    } catch (error) {
      throw isSharedTargetName(location.target) ? asShownToTenants(error, location.target) : error;
    }
  }

  /** The logical clusters with open sessions, for tests and metrics. */
  get openSessions(): ReadonlyMap<ClusterName, number> {
    return this.#open;
  }

  /** A connection from this process; undefined when another server may have one. */
  localConnector(target: TargetIdentity): PodConnector | undefined {
    const { targets, tunnels } = this.#options;
    const { cluster, name, uid } = target;
    const connection = targets.get({ cluster: cluster as ClusterName, namespace: "", name });
    if (connection !== undefined && connection.worker !== "agent" && connection.uid === uid)
      return new PodProxy({ client: connection.client, target: connection });
    return tunnels.find(target);
  }

  async #placeOfPod({
    cluster,
    pod,
    signal,
  }: Pick<PodConnectionRequest, "cluster" | "pod" | "signal">): Promise<ResolvedPod> {
    const known = resolvePod(pod);
    if (known !== undefined) return known;
    const copy = servingCopy(
      (await this.#options.downsyncedPods?.copiesOf(cluster, pod, signal)) ?? [],
    );
    const place = copy && resolvePod(copy);
    if (place === undefined) throw podNotRunning(pod.metadata.name);
    return place;
  }

  async #wayTo(call: From, where: PodLocation, what: string): Promise<PodConnector> {
    const { target } = where;
    const { cluster, name } = await this.#placeOf(call, target);
    const uid =
      where.uid ??
      (await this.#options.downsyncedPods?.targetUid({ cluster, name }, call.signal)) ??
      "";
    const own = this.localConnector({ cluster, name, uid });
    if (own !== undefined) return own;
    const next = isSharedTargetName(target)
      ? askProvider
      : `see kubectl describe synctarget ${target}, and the log of its agent`;
    const none = (asked: string) =>
      unavailable(
        `there is no way to ${what}: neither is this server connected to ${target}, nor is the agent of ${target} connected to this server${asked}; ${next}`,
      );
    const { peers } = this.#options;
    if (peers === undefined) throw none("");
    // Users of another workspace's cluster get no information about the servers.
    const tell = (asked: string) =>
      asked === "" || isSharedTargetName(target) ? "" : `; ${asked}`;
    return peers.connectorTo({ cluster, name, uid }, (asked) => none(tell(asked)));
  }

  async #placeOf({ cluster, signal }: From, target: string): Promise<SyncTargetReference> {
    if (!isSharedTargetName(target)) return { cluster, name: target };
    const place = await this.#options.sharedTarget?.(cluster, target, signal);
    if (place !== undefined) return place;
    throw unavailable(
      `who has ${target} does not offer its clusters to this workspace, or not any more; see kubectl get apibindings`,
    );
  }

  #count(cluster: ClusterName): () => void {
    const max = this.#options.sessionsPerClusterMax ?? sessionsPerClusterMaxDefault;
    const open = this.#open.get(cluster) ?? 0;
    if (open >= max)
      throw new StatusError({
        code: 429,
        reason: "TooManyRequests",
        message: `${max} sessions with Pods are open in this workspace, which is all it may have: end one first`,
        details: { retryAfterSeconds: 1 },
      });
    this.#open.set(cluster, open + 1);
    let isDone = false;
    return () => {
      if (isDone) return;
      isDone = true;
      const left = (this.#open.get(cluster) ?? 1) - 1;
      if (left === 0) this.#open.delete(cluster);
      else this.#open.set(cluster, left);
    };
  }
}

function requestOf(
  { cluster, pod, subresource, method, query, headers }: PodConnectionRequest,
  { name, uid, isDownsynced }: ResolvedPod,
): PodRequest {
  const { namespace = "" } = pod.metadata;
  if (!isName(name) || !isName(namespace)) throw podNotRunning(pod.metadata.name);
  return {
    cluster,
    namespace,
    name,
    uid,
    isDownsynced,
    subresource,
    method,
    query: forwardedQuery(subresource, query),
    headers: forwardedHeaders(headers),
  };
}

const askProvider = "ask who offers it";

function unavailable(message: string): StatusError {
  const details = { retryAfterSeconds: 1 };
  return new StatusError({ code: 503, reason: "ServiceUnavailable", message, details });
}

/**
 * Addresses, accounts and permissions in a cluster concern only its owner. Messages about a Pod are
 * shown to the Pod's owner.
 */
function asShownToTenants(error: unknown, target: string): unknown {
  if (!(error instanceof StatusError)) return error;
  const { code } = error;
  if (code === 401 || code === 403)
    return new StatusError({
      code: 403,
      reason: "Forbidden",
      message: `the control plane is not permitted to do this in ${target}: ${askProvider}`,
    });
  return code < 500 ? error : unavailable(`${target} cannot be reached now: ${askProvider}`);
}

function bodyOf(answer: PodResponse): AsyncIterable<Uint8Array> {
  if ("body" in answer) return answer.body;
  answer.connection.destroy();
  throw statusError.unavailable(
    "the cluster responded with another protocol than the requested one",
  );
}

/** The limit for a Pod: the size of an object. */
const podBytesMax = 3 << 20;

async function wholeText(answer: PodResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of bodyOf(answer)) {
    bytes += part.length;
    if (bytes > podBytesMax) throw statusError.unavailable("the cluster's answer is no Pod");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function containersOf(text: string): readonly JsonValue[] {
  try {
    const { spec } = parseBounded(bounds.clusterObject, text) as {
      spec?: { ephemeralContainers?: JsonValue };
    };
    const { ephemeralContainers: found } = spec ?? {};
    if (Array.isArray(found)) return found as readonly JsonValue[];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !isBoundExceeded(error)) throw error;
  }
  throw statusError.unavailable("the cluster's answer is no Pod with ephemeral containers");
}

function podNotRunning(name: string): StatusError {
  return statusError.badRequest(
    `pod ${JSON.stringify(name)} does not run in any cluster: see kubectl kcp explain-placement pod/${name}`,
  );
}
