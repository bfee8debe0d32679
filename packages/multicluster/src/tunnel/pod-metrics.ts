/**
 * PodMetrics: the metrics of a logical cluster's Pods, read through from their clusters on request.
 *
 *     upstream Pods ─▶ Pods by cluster ─▶ one request per cluster and namespace ─▶ upstream names
 *
 * Nothing is stored, and a cluster that none of the Pods is in gets no request. A response is shown
 * only for Pods that are known upstream, under their upstream names and labels; a Pod that was
 * created upstream is shown once, and its per-cluster objects only to clients that request these. A
 * cluster without metrics is reported in one warning; when no cluster has any, the request fails.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import { bounds, isBoundExceeded, parseBoundedResumable } from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
} from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  isTransportError,
  type PartialObjectMetadata,
  startDeadline,
} from "@kcp-ts/sdk";
import { pods } from "@kcp-ts/sdk/kinds";
import { isSharedTargetName, ownedByLabel } from "../api/index.ts";
import { nameInCluster } from "../syncer/index.ts";
import type { PodConnections } from "./pod-connections.ts";
import { type PodLocation, type ResolvedPod, resolvePod, workloadUidOf } from "./pod-location.ts";

export interface PodMetricsOptions {
  readonly connections: Pick<PodConnections, "metrics">;
  /** A client that may read Pods in every logical cluster. */
  readonly client: () => Client;
  readonly clock: Clock;
}

export interface PodMetricsQuery {
  readonly cluster: ClusterName;
  /** Empty for all namespaces. */
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly signal: AbortSignal;
  warn(text: string): void;
}

/** The limit on concurrent requests to clusters, for one client request. */
export const metricsQueriesInFlightMax = 8;
/** The timeout of one request to a cluster. */
export const metricsTimeoutMs = 5000;
/** Clusters times namespaces: a client with more requests a single namespace. */
export const metricsQueriesMax = 1000;
/** The limit of one response: some ten thousand Pods. */
const answerBytesMax = bounds.clusterAnswer.bytesMax;

/** One cluster and namespace, with the requested Pods by their names in the cluster. */
interface ClusterMetricsQuery {
  readonly location: PodLocation;
  readonly namespace: string;
  readonly copies: Map<string, PartialObjectMetadata>;
}

/** A Pod as it is shown, and its location. */
interface LocatedPod {
  readonly pod: PartialObjectMetadata;
  readonly location: ResolvedPod;
}

export class PodMetrics {
  readonly #options: PodMetricsOptions;

  constructor(options: PodMetricsOptions) {
    this.#options = options;
  }

  /** Sorted by namespace and name. */
  async list(question: PodMetricsQuery): Promise<readonly JsonObject[]> {
    const questions = await this.#questions(question);
    const syncErrors = new Map<string, string>();
    const found: JsonObject[] = [];
    let answers = 0;
    const waiting = [...questions];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { target } = next.location;
        // A cluster that did not respond for one namespace is skipped for the others.
        if (syncErrors.has(target)) continue;
        try {
          found.push(...(await this.#ask(next, question)));
          answers++;
        } catch (error) {
          question.signal.throwIfAborted();
          syncErrors.set(target, metricsErrorOf(error, target));
        }
      }
    };
    await Promise.all(Array.from({ length: metricsQueriesInFlightMax }, work));
    if (answers === 0 && syncErrors.size > 0)
      throw statusError.unavailable(`no metrics: ${[...syncErrors.values()].sort().join("; ")}`);
    for (const text of [...syncErrors.values()].sort()) question.warn(`without metrics of ${text}`);
    return found.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  }

  async #questions(question: PodMetricsQuery): Promise<readonly ClusterMetricsQuery[]> {
    const { cluster, namespace, labelSelector, fieldSelector, signal } = question;
    const resource = this.#options.client().inCluster(cluster).resource(pods);
    const { items } = await resource.listMetadata({
      ...(namespace === "" ? {} : { namespace }),
      ...(labelSelector === "" ? {} : { labelSelector }),
      ...(fieldSelector === "" ? {} : { fieldSelector }),
      signal,
    });
    const questions = new Map<string, ClusterMetricsQuery>();
    const shown = await this.#placed(question, items);
    for (const { pod, location } of shown) {
      const { location: where } = location;
      const { namespace: home = "" } = pod.metadata;
      const id = JSON.stringify([where.target, where.uid, home]);
      const known = questions.get(id) ?? { location: where, namespace: home, copies: new Map() };
      questions.set(id, known);
      for (const name of namesOf(location)) known.copies.set(name, pod);
    }
    if (questions.size > metricsQueriesMax)
      throw statusError.badRequest(
        `metrics are asked for by cluster and namespace, and ${questions.size} of those are more than ${metricsQueriesMax} at a time: ask for one namespace`,
      );
    return [...questions.values()];
  }

  /** A Pod that was created upstream and runs in no cluster has no metrics. */
  async #placed(
    { cluster, namespace, signal }: PodMetricsQuery,
    items: readonly PartialObjectMetadata[],
  ): Promise<readonly LocatedPod[]> {
    const listed = new Set(items.flatMap(({ metadata: { uid } }) => uid ?? []));
    const workloads = new Map(
      items
        .filter((pod) => resolvePod(pod) === undefined)
        .map((pod) => [pod.metadata.uid ?? "", pod]),
    );
    const own = items.filter((pod) => !listed.has(workloadUidOf(pod) ?? ""));
    const placed = own.flatMap((pod): LocatedPod[] => {
      const location = resolvePod(pod);
      return location === undefined ? [] : [{ pod, location }];
    });
    if (workloads.size === 0) return placed;
    const { items: parts } = await this.#options
      .client()
      .inCluster(cluster)
      .resource(pods)
      .listMetadata({
        ...(namespace === "" ? {} : { namespace }),
        labelSelector: ownedByLabel,
        signal,
      });
    const ofWholes = parts.flatMap((copy): LocatedPod[] => {
      const pod = workloads.get(workloadUidOf(copy) ?? "");
      const location = resolvePod(copy);
      return pod === undefined || location === undefined ? [] : [{ pod, location }];
    });
    return [...placed, ...ofWholes];
  }

  async #ask(
    { location, namespace, copies }: ClusterMetricsQuery,
    { cluster, signal }: PodMetricsQuery,
  ): Promise<readonly JsonObject[]> {
    const { connections, clock } = this.#options;
    const what = `asking ${location.target} what Pods use`;
    const deadline = startDeadline({ clock, timeoutMs: metricsTimeoutMs, signal, what });
    try {
      const from = { cluster, signal: deadline.signal };
      const [name] = copies.size === 1 ? [...copies.keys()] : [];
      const body = await connections.metrics({ from, location, namespace, name });
      const items = await itemsOf(await textOf(body, deadline.signal));
      return items.flatMap((item) => {
        const metadata = item["metadata"];
        const inside = isJsonObject(metadata) ? metadata["name"] : undefined;
        const copy = typeof inside === "string" ? copies.get(inside) : undefined;
        return copy === undefined ? [] : [shownOf(copy, item)];
      });
    } finally {
      deadline.cancel();
    }
  }
}

/** The names in the cluster: a downsynced Pod may have a shorter name there. */
function namesOf({ name, location, isDownsynced }: ResolvedPod): readonly string[] {
  const shorter = isDownsynced ? nameInCluster(name, location.target) : undefined;
  return shorter === undefined ? [name] : [name, shorter];
}

/** Only the metrics of the requested Pods are read from a response. */
function shownOf(copy: PartialObjectMetadata, item: JsonObject): JsonObject {
  const { name, namespace = "", labels, creationTimestamp } = copy.metadata;
  const containers = Array.isArray(item["containers"]) ? item["containers"] : [];
  return {
    metadata: {
      ...{ name, namespace },
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(labels === undefined ? {} : { labels: { ...labels } }),
    },
    ...textsIn(item, ["timestamp", "window"]),
    containers: (containers as readonly JsonValue[]).filter(isJsonObject).map((one) => {
      const { usage = null } = one as { usage?: JsonValue };
      return {
        ...textsIn(one, ["name"]),
        usage: isJsonObject(usage) ? textsIn(usage, Object.keys(usage)) : {},
      };
    }),
  };
}

function textsIn(object: JsonObject, members: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    members.flatMap((member) => {
      const value = object[member];
      return typeof value === "string" ? [[member, value]] : [];
    }),
  );
}

function placeOf(item: JsonObject): string {
  const { namespace, name } = item["metadata"] as { namespace: string; name: string };
  return `${namespace}/${name}`;
}

async function textOf(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of body) {
      signal.throwIfAborted();
      bytes += part.length;
      if (bytes > answerBytesMax)
        throw statusError.unavailable(`the answer has more than ${answerBytesMax} bytes`);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof StatusError || isTransportError(error)) throw error;
    // A tunnel fails with errors of its own.
    throw statusError.unavailable("the answer broke off");
  }
  return Buffer.concat(parts).toString("utf8");
}

async function itemsOf(text: string): Promise<readonly JsonObject[]> {
  try {
    const { items } = (await runSyncFirst(read(text))) as { items?: JsonValue };
    if (Array.isArray(items)) return (items as readonly JsonValue[]).filter(isJsonObject);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !isBoundExceeded(error)) throw error;
  }
  throw statusError.unavailable("the answer is no list of PodMetrics");
}

function* read(text: string): Resumable<JsonValue> {
  return (yield* parseBoundedResumable(bounds.clusterAnswer, text)).value;
}

/** Why a cluster returns no metrics, and what to do about it. */
function metricsErrorOf(error: unknown, target: string): string {
  const next = isSharedTargetName(target) ? "ask who offers it" : "install metrics-server there";
  if (error instanceof StatusError && error.code === 404)
    return `${target}: it serves no metrics.k8s.io: ${next}`;
  if (error instanceof StatusError) return `${target}: ${error.message}`;
  if (isTransportError(error))
    return `${target}: it did not answer within ${metricsTimeoutMs / 1000} s`;
  throw error;
}
