/** What an embedder adds to a control plane: all of it runs in this process and is trusted like our own code. */

import type {
  AdmissionPlugin,
  ApiRequest,
  ApiResponse,
  Authorizer,
  ResourceDefinition,
  ServerLog,
} from "@kcp-ts/apiserver";
import type { Clock } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";

export interface Extensions {
  /** Types that every logical cluster serves, besides the ones that are built in. */
  readonly resources?: readonly ResourceDefinition[];
  /** Asked behind our own, in this order. */
  readonly admissionPlugins?: readonly AdmissionPlugin[];
  /** Asked when our own rules do not allow a request: one that allows is enough. */
  readonly authorizers?: readonly Authorizer[];
  /** Around every request but those of the server's own control loops, from the network or from this process; the first is the outermost. */
  readonly middleware?: readonly Middleware[];
  readonly controllers?: readonly ControllerProgram[];
}

export type Handle = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

/** Answers itself, or calls `next` and may change the answer. A rejection drops the connection. */
export type Middleware = (request: ApiRequest, next: Handle) => ApiResponse | Promise<ApiResponse>;

/**
 * Runs beside the server until the signal aborts, as `Manager.run` does. One that ends or fails earlier is called again after a while, and /readyz
 * names it meanwhile by the function's name.
 */
export type ControllerProgram = (context: ControllerContext) => Promise<void>;

export interface ControllerContext {
  /** Of the logical cluster root; `inCluster` leads to the others. May do everything. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly signal: AbortSignal;
}

export function withMiddleware(handle: Handle, middleware: readonly Middleware[]): Handle {
  return middleware.reduceRight<Handle>((next, layer) => (request) => layer(request, next), handle);
}
