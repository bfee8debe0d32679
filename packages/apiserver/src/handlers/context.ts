/** What every handler gets: the server's rooms, and the one request it is about. */
import { type Clock, neverAborted, type Random } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { Admission, AdmissionRequest } from "../admission/index.ts";
import type { TranslatedYaml } from "../content/index.ts";
import type { Registry, ResourceDefinition, SubresourceStrategy } from "../registry/index.ts";
import type { ApiRequest, MaybePromise } from "../request/api-request.ts";
import type { ResourceScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import type { WatchCache } from "../watch-cache/index.ts";
import type { Reviewers } from "./review.ts";
import type { TokenSource } from "./token-source.ts";

export interface HandlerDependencies {
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
  /** Undefined where service accounts get no tokens. */
  readonly tokens: TokenSource | undefined;
  readonly reviewers: Reviewers;
  /** Throws a 403 unless who updates or applies what does not exist may also create it: they were let in for another verb. */
  readonly authorizeCreate: (request: AdmissionRequest) => MaybePromise<void>;
  /** What a resource can do besides what its definition says. */
  readonly furtherSubresource?: AdditionalSubresource | undefined;
}

/** Undefined when there is none of that name. Views ask as well: whether it is one stands in the scope. */
export type AdditionalSubresource = (
  definition: ResourceDefinition,
  scope: ResourceScope,
) => SubresourceStrategy | undefined;

export interface HandlerRequest {
  readonly request: ApiRequest;
  readonly scope: ResourceScope;
  readonly definition: ResourceDefinition;
  readonly user: UserInfo;
  /** Sent as Warning headers with the answer. */
  readonly warnings: string[];
  /** Aborts when the client goes away or the request's time is up. */
  readonly signal: AbortSignal;
  /** Undefined when the request brings none. */
  readonly body: Uint8Array | undefined;
  /** What the body says, when it came as YAML and has been read. */
  readonly yaml: TranslatedYaml | undefined;
  /** Leaves a note for the audit of the request. */
  annotate(key: string, value: string, level?: "Metadata" | "Request"): void;
  /** Tells the audit of the request which object it is about, as far as the path does not say. */
  noteObject(metadata: JsonObject): void;
}

/** The bytes that a request body may have, as in Kubernetes. */
export const bodyBytesMax = 3 << 20;

/** Writes and reads of one object are always within one logical cluster. */
export function requireSingleCluster(scope: ResourceScope): ClusterName {
  if (scope.cluster !== "*") return scope.cluster;
  throw statusError.notInWildcard(scope, scope.verb);
}

/** The logical cluster whose objects a request for one of them reads. */
export function clusterToRead(
  { servedFrom }: ResourceDefinition,
  scope: ResourceScope,
): ClusterName {
  const asked = requireSingleCluster(scope);
  return servedFrom ?? asked;
}

/**
 * The signal of writes: none. A write that has been received goes through whether or not its sender waits for the answer, as in
 * Kubernetes; the answer's deadline is the pipeline's, and the store bounds its own waiting.
 */
export const uncancelled: AbortSignal = neverAborted;
