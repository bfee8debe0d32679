/**
 * PodConnections: from a Pod as the control plane stores it to a way into the cluster that it runs in.
 *
 * The label says which SyncTarget, and that one's uid must be the one that the copy was made from. So a SyncTarget of the same name that came
 * later reaches nothing of the former's. A Pod that was made here is where its part was sent (`pod-places.ts`).
 *
 * Who uses clusters of another workspace has other names for them. What those mean is asked anew each time, since offers end; and such users are told what
 * concerns their Pods, not how the control plane gets on with somebody else's cluster.
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
import type { PeerRouter } from "./peer-ways.ts";
import { type PodConnector, PodProxy, type PodResponse } from "./pod-door.ts";
import { type PodLocation, type ResolvedPod, resolvePod, servingCopy } from "./pod-places.ts";
import {
  forwardedHeaders,
  forwardedQuery,
  isName,
  type PodRequest,
  type PodSubresource,
} from "./pod-request.ts";
import type { DownsyncedPods } from "./sent-pods.ts";
import type { Tunnels } from "./tunnels.ts";

export interface PodConnectionsOptions {
  /** Clusters that this process is connected to. */
  readonly targets: Targets;
  /** Clusters whose agents are connected to this process. */
  readonly tunnels: Tunnels;
  /** Which SyncTarget of another logical cluster is meant by a name; undefined when none is offered. Nobody uses others' clusters if it is left out. */
  readonly sharedTarget?: SharedTarget | undefined;
  /** Other servers of this control plane; there are none if it is left out. */
  readonly peers?: Pick<PeerRouter, "wayTo"> | undefined;
  /** What is stored of Pods that were made here; those are nowhere if it is left out. */
  readonly sent?: DownsyncedPods | undefined;
  /** Sessions that one logical cluster may have open at a time. */
  readonly sessionsPerClusterMax?: number | undefined;
}

export type SharedTarget = (
  cluster: ClusterName,
  name: string,
  signal: AbortSignal,
) => Promise<SyncTargetReference | undefined>;

/** Where a SyncTarget is, and its name there. */
export interface SyncTargetReference {
  readonly cluster: ClusterName;
  readonly name: string;
}

export interface PodConnectionRequest {
  readonly cluster: ClusterName;
  /** As it is stored upstream. */
  readonly pod: KubernetesObject;
  readonly subresource: PodSubresource;
  readonly method: "GET" | "POST";
  readonly query: URLSearchParams;
  /** As the client sent them; few of them go along. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Ends the asking; what is open then ends with its connection. */
  readonly signal: AbortSignal;
}

/** Who asks. */
type From = Pick<PodConnectionRequest, "cluster" | "signal">;

export interface MetricsConnectionRequest {
  readonly from: From;
  readonly where: PodLocation;
  /** Upstream. */
  readonly namespace: string;
  /** Of one Pod, in the cluster. */
  readonly name?: string | undefined;
}

export const sessionsPerClusterMaxDefault = 256;

export class PodConnections {
  readonly #options: PodConnectionsOptions;
  readonly #open = new Map<ClusterName, number>();

  constructor(options: PodConnectionsOptions) {
    this.#options = options;
  }

  /** Counted until `done` of the answer is called. */
  async open(call: PodConnectionRequest): Promise<PodResponse & { readonly done: () => void }> {
    const place = await this.#placeOfPod(call);
    const request = requestOf(call, place);
    const { where } = place;
    const way = await this.#wayTo(call, where, `pod ${JSON.stringify(call.pod.metadata.name)}`);
    const done = this.#count(call.cluster);
    try {
      return { ...(await way.open(request, call.signal)), done };
    } catch (error) {
      done();
      throw isSharedTargetName(where.target) ? asShownToTenants(error, where.target) : error;
    }
  }

  /** Adds ephemeral containers to a Pod. Answers with those that it has then. */
  async addContainers(
    call: Pick<PodConnectionRequest, "cluster" | "pod" | "signal">,
    patch: JsonObject,
    isDryRun: boolean,
  ): Promise<readonly JsonValue[]> {
    const { where, ...inside } = await this.#placeOfPod(call);
    const { name, namespace = "" } = call.pod.metadata;
    if (!isName(inside.name) || !isName(namespace)) throw podNotRunning(name);
    const way = await this.#wayTo(call, where, `pod ${JSON.stringify(name)}`);
    const { cluster, signal } = call;
    const of = { cluster, namespace, ...inside };
    try {
      const answer = await way.open({ ephemeral: patch, isDryRun, ...of }, signal);
      const containers = containersOf(await wholeText(answer));
      // What was made here is shown here as it was made, and knows nothing of them yet.
      if (inside.isSent && !isDryRun)
        await this.#options.sent?.showContainers(cluster, call.pod, containers, signal);
      return containers;
    } catch (error) {
      throw isSharedTargetName(where.target) ? asShownToTenants(error, where.target) : error;
    }
  }

  /** What the Pods of a namespace use in one cluster, as that says it: PodMetrics as JSON. */
  async metrics({
    from,
    where,
    namespace,
    name,
  }: MetricsConnectionRequest): Promise<AsyncIterable<Uint8Array>> {
    const way = await this.#wayTo(from, where, "what Pods use");
    try {
      const request = { metrics: "pods", cluster: from.cluster, namespace, name } as const;
      return bodyOf(await way.open(request, from.signal));
    } catch (error) {
      throw isSharedTargetName(where.target) ? asShownToTenants(error, where.target) : error;
    }
  }

  /** Logical clusters with sessions, for tests and metrics. */
  get openSessions(): ReadonlyMap<ClusterName, number> {
    return this.#open;
  }

  /** From this process; undefined when another server may have one. */
  ownWay(target: TargetIdentity): PodConnector | undefined {
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
    const part = servingCopy((await this.#options.sent?.partsOf(cluster, pod, signal)) ?? []);
    const place = part && resolvePod(part);
    if (place === undefined) throw podNotRunning(pod.metadata.name);
    return place;
  }

  async #wayTo(call: From, where: PodLocation, what: string): Promise<PodConnector> {
    const { target } = where;
    const { cluster, name } = await this.#placeOf(call, target);
    const uid =
      where.uid ?? (await this.#options.sent?.targetUid({ cluster, name }, call.signal)) ?? "";
    const own = this.ownWay({ cluster, name, uid });
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
    // Who has a cluster from somebody else is told nothing about the servers.
    const tell = (asked: string) =>
      asked === "" || isSharedTargetName(target) ? "" : `; ${asked}`;
    return peers.wayTo({ cluster, name, uid }, (asked) => none(tell(asked)));
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
  { name, uid, isSent }: ResolvedPod,
): PodRequest {
  const { namespace = "" } = pod.metadata;
  if (!isName(name) || !isName(namespace)) throw podNotRunning(pod.metadata.name);
  return {
    cluster,
    namespace,
    name,
    uid,
    isSent,
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

/** Addresses, accounts and rights in a cluster are the affair of whoever has it. What it says about a Pod is said to the Pod's owner. */
function asShownToTenants(error: unknown, target: string): unknown {
  if (!(error instanceof StatusError)) return error;
  const { code } = error;
  if (code === 401 || code === 403)
    return new StatusError({
      ...{ code: 403, reason: "Forbidden" },
      message: `${target} lets nobody of the control plane do this: ${askProvider}`,
    });
  return code < 500 ? error : unavailable(`${target} cannot be reached now: ${askProvider}`);
}

function bodyOf(answer: PodResponse): AsyncIterable<Uint8Array> {
  if ("body" in answer) return answer.body;
  answer.connection.destroy();
  throw statusError.unavailable("the cluster answered by another protocol than it was asked");
}

/** Of a Pod: as large as an object may be. */
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
