/**
 * The sources of webhooks and policies. Wiring supplies them; this folder knows no storage, no
 * sockets and no roles.
 */
import type { Bound, WorkBudget } from "@kcp-ts/machinery/bounds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { WebhookClientConfig } from "@kcp-ts/machinery/schema";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import type { Attributes } from "../request/attributes.ts";
import type { EncodedBody } from "../request/encoded-body.ts";
import type { AdmissionRequest, ObjectDecoder } from "./admission.ts";
import type { ClusterConfiguration } from "./configuration.ts";

export interface AdmissionSources {
  readonly configurations: ConfigurationSource;
  readonly parameters: ParameterSource;
  readonly webhooks: WebhookCaller;
  /** The complete Namespace object. */
  namespace(cluster: ClusterName, name: string): Promise<JsonObject | undefined>;
  /** Other versions and groups under which the same objects are served. */
  equivalents(request: AdmissionRequest): Promise<readonly EquivalentKind[]>;
  authorize(
    attributes: Attributes,
  ): Promise<{ readonly allowed: boolean; readonly reason: string }>;
  newUid(): string;
  readonly providers: ProviderSource;
}

export interface ProviderSource {
  /**
   * The cluster whose webhooks and policies apply to a resource: that of its provider, if another
   * cluster exports the resource.
   */
  ownerOf(cluster: ClusterName, group: string, resource: string): ClusterName;
}

export interface ConfigurationSource {
  /** Whether the cluster is known to have no configuration. */
  isEmpty(cluster: ClusterName): boolean;
  load(cluster: ClusterName): Promise<{ readonly configuration: ClusterConfiguration }>;
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
  readonly decoder: ObjectDecoder;
  /** Converts an object of the requested kind to this kind. */
  convert(object: JsonObject): Promise<JsonObject>;
  /** Converts an object back to the requested kind. */
  restore(object: JsonObject): Promise<JsonObject>;
}

export interface WebhookCaller {
  post(
    config: WebhookClientConfig,
    body: EncodedBody,
    call: {
      readonly answer: Bound;
      readonly budget: WorkBudget;
      readonly cluster: ClusterName;
      readonly timeoutMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<JsonObject>;
}
