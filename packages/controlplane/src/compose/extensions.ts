/**
 * The extensions of an embedder: all of them run in this process and are trusted like the server's
 * own code.
 */
import type {
  AdmissionPlugin,
  ApiRequest,
  ApiResponse,
  Authorizer,
  KeyService,
  ResourceDefinition,
  ServerLog,
} from "@kcp-ts/apiserver";
import type { Clock } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";

export interface Extensions {
  /** Types that every logical cluster serves, in addition to the built-in ones. */
  readonly resources?: readonly ResourceDefinition[];
  /** Admission plugins that run after the built-in ones, in this order. */
  readonly admissionPlugins?: readonly AdmissionPlugin[];
  /**
   * Authorizers that run when the built-in ones do not allow a request: one that allows it is
   * enough.
   */
  readonly authorizers?: readonly Authorizer[];
  /**
   * Middleware around every request except those of the server's own controllers, from the network
   * or from this process; the first is the outermost.
   */
  readonly middleware?: readonly Middleware[];
  readonly controllers?: readonly ControllerProgram[];
  /** Key services by the names of `kms` providers in the encryption configuration. */
  readonly keyServices?: ReadonlyMap<string, KeyService>;
}

export type Handle = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

/**
 * Responds itself, or calls `next` and may change the response. A rejection drops the connection.
 */
export type Middleware = (request: ApiRequest, next: Handle) => ApiResponse | Promise<ApiResponse>;

/**
 * Runs beside the server until the signal aborts, as `Manager.run` does. A program that ends or
 * fails earlier is restarted with backoff, and /readyz names it meanwhile by the function's name.
 */
export type ControllerProgram = (context: ControllerContext) => Promise<void>;

export interface ControllerContext {
  /**
   * A client of the logical cluster root with all permissions; `inCluster` returns clients of the
   * others.
   */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly signal: AbortSignal;
}

export function withMiddleware(handle: Handle, middleware: readonly Middleware[]): Handle {
  return middleware.reduceRight<Handle>((next, layer) => (request) => layer(request, next), handle);
}
