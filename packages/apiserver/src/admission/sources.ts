/** What webhooks and policies need to know from elsewhere. Wiring supplies it; this room knows no storage, no sockets and no roles. */
import type { Bound } from "@kcp-ts/machinery/bounds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { WebhookClientConfig } from "@kcp-ts/machinery/schema";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import type { MaybePromise } from "../request/api-request.ts";
import type { Attributes } from "../request/attributes.ts";
import type { AdmissionRequest, ObjectDecoder } from "./admission.ts";
import type { ClusterConfiguration } from "./configuration.ts";

export interface AdmissionSources {
  readonly configurations: ConfigurationSource;
  readonly parameters: ParameterSource;
  readonly webhooks: WebhookCaller;
  /** The whole namespace object. */
  namespace(cluster: ClusterName, name: string): MaybePromise<JsonObject | undefined>;
  /** Other versions and groups under which the same objects are served. */
  equivalents(request: AdmissionRequest): MaybePromise<readonly EquivalentKind[]>;
  authorize(attributes: Attributes): MaybePromise<{
    readonly allowed: boolean;
    readonly reason: string;
  }>;
  newUid(): string;
  /** Whose configuration holds for a resource: its provider's where it is another cluster's. Its own cluster's if left out. */
  ownerOf?(cluster: ClusterName, group: string, resource: string): ClusterName;
}

/** The cluster whose webhooks and policies a request is put to. */
export function configuringCluster(
  sources: Pick<AdmissionSources, "ownerOf">,
  { cluster, group, resource }: AdmissionRequest,
): ClusterName {
  return sources.ownerOf?.(cluster, group, resource) ?? cluster;
}

export interface ConfigurationSource {
  /** What is in memory of a cluster; undefined says nothing. */
  peek(cluster: ClusterName): ClusterConfiguration | undefined;
  load(cluster: ClusterName): Promise<ClusterConfiguration>;
}

export interface ParameterSource {
  /** The kind, or undefined when the cluster does not serve it. */
  kind(cluster: ClusterName, apiVersion: string, kind: string): Promise<ParameterKind | undefined>;
}

export interface ParameterKind {
  readonly isNamespaced: boolean;
  get(namespace: string, name: string): Promise<JsonObject | undefined>;
  list(namespace: string, selector: LabelSelector): Promise<readonly JsonObject[]>;
}

/** A kind as rules name it. */
export interface TargetKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
}

export interface EquivalentKind extends TargetKind {
  readonly form: ObjectDecoder;
  /** An object of the requested kind as one of this kind. */
  convert(object: JsonObject): MaybePromise<JsonObject>;
  /** And back. */
  restore(object: JsonObject): MaybePromise<JsonObject>;
}

export interface WebhookCaller {
  post(
    config: WebhookClientConfig,
    body: JsonValue,
    call: {
      readonly answer: Bound;
      readonly cluster: ClusterName;
      readonly timeoutMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<JsonObject>;
}
