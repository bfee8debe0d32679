/**
 * Resources that are not stored: computed on request, such as the current usage of Pods. They
 * support only get and list: without a revision there is nothing to watch.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface ComputedResource {
  /**
   * The selected objects, with metadata and without kind. Throws a StatusError when they cannot be
   * computed.
   */
  list(question: ComputedListRequest): Promise<readonly JsonObject[]>;
}

export interface ComputedListRequest {
  readonly cluster: ClusterName;
  /** Empty for all namespaces. */
  readonly namespace: string;
  /** The selectors as sent; `metadata.name=…` for a get. */
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Adds a Warning header to the response. */
  warn(text: string): void;
}
