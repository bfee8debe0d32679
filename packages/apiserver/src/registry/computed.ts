/**
 * Objects that are nowhere stored: made up when somebody asks, like what Pods use at the moment. They can be got and listed, and nothing else: without a revision there is
 * nothing to watch.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface ComputedResource {
  /** Those that are selected, with metadata and without kind. Throws a StatusError when it cannot say. */
  list(question: ComputedListRequest): Promise<readonly JsonObject[]>;
}

export interface ComputedListRequest {
  readonly cluster: ClusterName;
  /** Empty for all of them. */
  readonly namespace: string;
  /** As they were sent; `metadata.name=…` when one object is asked for. */
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Tells the client something, in a Warning header. */
  warn(text: string): void;
}
