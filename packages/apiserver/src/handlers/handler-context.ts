/** The input of every handler: the dependencies of the server, and the request. */
import { type Clock, neverAborted, type Random } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { Admission, AdmissionRequest } from "../admission/index.ts";
import type { TranslatedYaml } from "../content/index.ts";
import type { Registry, ResourceDefinition, SubresourceStrategy } from "../registry/index.ts";
import type { ApiRequest } from "../request/api-request.ts";
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
  /** Undefined when service accounts have no tokens. */
  readonly tokens: TokenSource | undefined;
  readonly reviewers: Reviewers;
  /**
   * Throws a 403 unless the user of a request may also use the verb: `create` for an update or
   * apply that creates the missing object, and the verb of an unsafe deletion.
   */
  readonly authorizeVerb: (request: AdmissionRequest, verb: string) => Promise<void>;
  /** Finds subresources that the definition of their resource does not list. */
  readonly additionalSubresource?: AdditionalSubresource | undefined;
}

/**
 * Undefined when there is no subresource of that name. Also called for requests to views; the scope
 * says whether it is one.
 */
export type AdditionalSubresource = (
  definition: ResourceDefinition,
  scope: ResourceScope,
) => SubresourceStrategy | undefined;

export interface HandlerRequest {
  readonly request: ApiRequest;
  readonly scope: ResourceScope;
  readonly definition: ResourceDefinition;
  readonly user: UserInfo;
  /** Sent as Warning headers of the response. */
  readonly warnings: string[];
  /** Aborts when the client disconnects or the request exceeds its timeout. */
  readonly signal: AbortSignal;
  /** Undefined when the request has no body. */
  readonly body: Uint8Array | undefined;
  /** The decoded body, if it is YAML and has been read. */
  readonly yaml: TranslatedYaml | undefined;
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string, level?: "Metadata" | "Request"): void;
  /** Records the object of the request in its audit event, as far as the path does not name it. */
  recordAuditObject(metadata: JsonObject): void;
}

/** The maximum number of bytes of a request body, as in Kubernetes. */
export const bodyBytesMax = 3 << 20;

/** Writes, and reads of one object, are always within one logical cluster. */
export function requireSingleCluster(scope: ResourceScope): ClusterName {
  if (scope.cluster !== "*") return scope.cluster;
  throw statusError.notInWildcard(scope, scope.verb);
}

/**
 * The signal of writes, which never aborts. As in Kubernetes, a write that has been received
 * completes whether or not its client waits for the response; the pipeline enforces the timeout of
 * the response, and the store limits its own waiting.
 */
export const uncancelled: AbortSignal = neverAborted;
