/**
 * PodProxy: the connection to Pods from a process that has a client of their cluster, in the
 * control plane (Push) or in an agent (Pull).
 *
 * The proxy checks every request itself: the namespace must be the one that this SyncTarget's
 * syncer created for that logical cluster and namespace, and have the matching annotation; the Pod
 * must have the uid that the control plane knows, or an origin annotation with the upstream uid.
 * All other requests are rejected.
 */
import type { Duplex } from "node:stream";
import { bounds, isBoundExceeded, parseBounded } from "@kcp-ts/machinery/bounds";
import { JsonSyntaxError } from "@kcp-ts/machinery/json";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  headerText,
  isTransportError,
  isUpgraded,
  type KubernetesObject,
  type ResponseBody,
  stringMember,
  type UpgradeResponse,
} from "@kcp-ts/sdk";
import { namespaces, pods } from "@kcp-ts/sdk/kinds";
import { namespaceLocatorAnnotations, syncerFieldManager, targetNameIn } from "../api/index.ts";
import {
  downstreamNamespace,
  nameInCluster,
  originAnnotation,
  parseLocator,
  parseOrigin,
  type TargetIdentity,
} from "../syncer/index.ts";
import { type EphemeralRequest, strategicMergePatch } from "./ephemeral-request.ts";
import type { MetricsRequest } from "./metrics-request.ts";
import { type PodReference, type PodRequest, pickHeaders, returnedHeaders } from "./pod-request.ts";

/** The connection itself, or the cluster's response instead. */
export type PodResponse =
  | { readonly status: 101; readonly headers: Record<string, string>; readonly connection: Duplex }
  | {
      readonly status: number;
      readonly headers: Record<string, string>;
      readonly body: AsyncIterable<Uint8Array>;
    };

/** The requests to a cluster. */
export type ClusterRequest = PodRequest | MetricsRequest | EphemeralRequest;

/** Throws a StatusError when there is no connection. */
export interface PodConnector {
  open(request: ClusterRequest, signal: AbortSignal): Promise<PodResponse>;
}

export interface PodProxyOptions {
  /** A client of the cluster. */
  readonly client: Client;
  readonly target: TargetIdentity;
}

interface FoundPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The limit of a cluster's error response. */
const refusalBytesMax = 64 << 10;

export class PodProxy implements PodConnector {
  readonly #options: PodProxyOptions;

  constructor(options: PodProxyOptions) {
    this.#options = options;
  }

  open(request: ClusterRequest, signal: AbortSignal): Promise<PodResponse> {
    if ("metrics" in request) return this.#metrics(request, signal);
    return "ephemeral" in request
      ? this.#addContainers(request, signal)
      : this.#session(request, signal);
  }

  /** The cluster responds with the updated Pod. */
  async #addContainers(request: EphemeralRequest, signal: AbortSignal): Promise<PodResponse> {
    const right = "patch on pods/ephemeralcontainers";
    const { namespace, name, uid } = await this.#found(request, right, signal);
    const { ephemeral, isDryRun } = request;
    const query = `fieldManager=${syncerFieldManager}${isDryRun ? "&dryRun=All" : ""}`;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/ephemeralcontainers?${query}`;
    // The uid is a precondition: only the checked Pod is patched.
    const body = { metadata: { uid }, spec: ephemeral };
    const headers = { accept: "application/json" };
    const patch = {
      method: "PATCH",
      path,
      headers,
      body,
      contentType: strategicMergePatch,
    } as const;
    const { client } = this.#options;
    const response = await this.#asked(right, () =>
      client.send({ ...patch, signal, retriesMax: 0 }),
    );
    return await this.#answered(right, response);
  }

  /** A namespace that the syncer did not create has no metrics. */
  async #metrics(request: MetricsRequest, signal: AbortSignal): Promise<PodResponse> {
    const { client, target } = this.#options;
    const { name } = request;
    const namespace = downstreamNamespace(target, request);
    const right = "list on pods.metrics.k8s.io";
    const home = await this.#asked(right, () =>
      client.resource(namespaces).find({ name: namespace }, { signal }),
    );
    this.#checkNamespace(request, home);
    const selector = name === undefined ? "" : `?fieldSelector=metadata.name%3D${name}`;
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods${selector}`;
    const headers = { accept: "application/json" };
    const sent = { method: "GET", path, headers, signal, retriesMax: 0 } as const;
    return await this.#answered(right, await this.#asked(right, () => client.send(sent)));
  }

  async #session(request: PodRequest, signal: AbortSignal): Promise<PodResponse> {
    const { client } = this.#options;
    const right = `get and create on pods/${request.subresource}`;
    const { namespace, name } = await this.#found(request, right, signal);
    const { subresource, method, query, headers } = request;
    const parameters = new URLSearchParams(
      query.map(([key, value]): [string, string] => [key, value]),
    );
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/${subresource}?${parameters}`;
    const sent = { method, path, headers, signal, retriesMax: 0 } as const;
    const isUpgrade = headers["upgrade"] !== undefined;
    const response = await this.#asked<UpgradeResponse>(right, () =>
      isUpgrade ? client.upgrade(sent) : client.send(sent),
    );
    return await this.#answered(right, response);
  }

  /** The Pod in the cluster, after it and its namespace were checked. */
  async #found(request: PodReference, right: string, signal: AbortSignal): Promise<FoundPod> {
    const { client, target } = this.#options;
    const namespace = downstreamNamespace(target, request);
    const [home, ...found] = await this.#asked(right, () =>
      Promise.all([
        client.resource(namespaces).find({ name: namespace }, { signal }),
        ...this.#namesOf(request).map((name) =>
          client.resource(pods).find({ namespace, name }, { signal }),
        ),
      ]),
    );
    this.#checkNamespace(request, home);
    const pod = found.find((one) => one !== undefined && this.#isMeant(request, one));
    if (pod === undefined)
      throw new StatusError({
        code: 404,
        reason: "NotFound",
        message: `pod ${JSON.stringify(request.name)} is not in ${target.name} any more: look for its successor with kubectl get pods`,
      });
    return { namespace, name: pod.metadata.name, uid: pod.metadata.uid ?? "" };
  }

  /** A downsynced Pod may have a shorter name in the cluster (`copy-names.ts`). */
  #namesOf({ cluster, name, isDownsynced }: PodReference): readonly string[] {
    const shorter =
      isDownsynced === true
        ? nameInCluster(name, targetNameIn(cluster, this.#options.target))
        : undefined;
    return shorter === undefined ? [name] : [name, shorter];
  }

  #isMeant({ cluster, namespace, name, uid, isDownsynced }: PodReference, pod: KubernetesObject) {
    if (isDownsynced !== true) return pod.metadata.uid === uid;
    const origin = parseOrigin(stringMember(pod.metadata.annotations, originAnnotation));
    return (
      origin?.target === this.#options.target.uid &&
      origin.cluster === cluster &&
      origin.namespace === namespace &&
      origin.name === name &&
      origin.uid === uid
    );
  }

  #checkNamespace(
    { cluster, namespace, name = "" }: Pick<MetricsRequest, "cluster" | "namespace" | "name">,
    home: KubernetesObject | undefined,
  ): void {
    const { target } = this.#options;
    const annotations = home?.metadata.annotations;
    const locator = namespaceLocatorAnnotations
      .map((key) => parseLocator(stringMember(annotations, key)))
      .find((one) => one !== undefined);
    const isOurs =
      locator?.syncTarget.uid === target.uid &&
      locator.cluster === cluster &&
      locator.namespace === namespace;
    if (home !== undefined && !isOurs)
      throw statusError.forbidden(podResource, name, `its namespace in ${target.name} is not ours`);
  }

  async #answered(right: string, response: UpgradeResponse): Promise<PodResponse> {
    const headers = pickHeaders(response.headers, returnedHeaders);
    if (isUpgraded(response)) {
      const connection = response.connection as Duplex;
      return { status: 101, headers: { ...headers, connection: "Upgrade" }, connection };
    }
    const { status, body } = response;
    if (status < 400) return { status, headers, body };
    const said = await shortText(body);
    throw this.#refusal(
      right,
      status,
      messageOf(said, headerText(response.headers, "content-type")),
    );
  }

  /**
   * Errors of the cluster are reported as the cluster's: invalid credentials for the cluster are
   * not the user's fault.
   */
  async #asked<Answer>(right: string, ask: () => Promise<Answer>): Promise<Answer> {
    const { name: target } = this.#options.target;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof StatusError)
        throw error.code === 401 || error.code === 403
          ? this.#refusal(right, error.code, error.message)
          : error;
      if (!isTransportError(error)) throw error;
      throw statusError.unavailable(
        `${target} cannot be reached: ${error.message}; see kubectl describe synctarget ${target}`,
      );
    }
  }

  #refusal(right: string, code: number, said: string): StatusError {
    const { name: target } = this.#options.target;
    if (code === 401)
      return statusError.unavailable(
        `${target} does not accept the credentials of the control plane: see kubectl describe synctarget ${target}`,
      );
    if (code === 403)
      return new StatusError({
        code,
        reason: "Forbidden",
        message: `the control plane is not permitted to do this in ${target} (${said}): its account needs ${right}`,
      });
    return new StatusError({ code, reason: reasons.get(code) ?? "InternalError", message: said });
  }
}

const podResource = { group: "", resource: "pods" } as const;
const reasons: ReadonlyMap<number, string> = new Map([
  [400, "BadRequest"],
  [404, "NotFound"],
  [405, "MethodNotAllowed"],
  [409, "Conflict"],
  [422, "Invalid"],
  [429, "TooManyRequests"],
  [503, "ServiceUnavailable"],
]);

async function shortText(body: ResponseBody): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    bytes += part.length;
    if (bytes > refusalBytesMax) break;
  }
  return Buffer.concat(parts).toString("utf8", 0, refusalBytesMax);
}

/** The message of a Status; any other response completely. */
function messageOf(text: string, contentType: string | undefined): string {
  if (contentType?.includes("json") !== true) return text.trim();
  try {
    const { message } = parseBounded(bounds.refusal, text) as { message?: unknown };
    return typeof message === "string" ? message : text;
  } catch (error) {
    if (error instanceof JsonSyntaxError || isBoundExceeded(error)) return text;
    throw error;
  }
}
