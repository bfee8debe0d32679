/**
 * ServerExtension: what an embedder adds to a server: kinds with their own implementation, a
 * directory of logical clusters, authorizers in front of RBAC, and views.
 *
 * An extension is created in two steps, because extension and server need each other: the server
 * first reads the extension's kinds and authorizers, composes the catalog and the authorizer with
 * them, and then completes the extension with the result.
 */
import type { Clock, Random, Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { AdmissionPlugin } from "./admission/index.ts";
import type { ClusterIssuers } from "./authentication/index.ts";
import type { Authorizer } from "./authorization/index.ts";
import { type ClusterDirectory, openDirectory } from "./cluster-directory.ts";
import type { CustomResources } from "./custom-resources/index.ts";
import type { Registry, ResourceDefinition } from "./registry/index.ts";
import type { ApiRequest, ApiResponse } from "./request/api-request.ts";
import type { ServerLog } from "./server-log.ts";
import { noViews, type ServiceViews } from "./service-views.ts";
import type { Storage } from "./storage/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";
import type { WebhookClientOptions } from "./webhooks/index.ts";

export interface ServerHost {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ServerLog;
  /** Runs the extension's loops; /readyz names those that are down. */
  readonly supervisor: Supervisor;
  /** Serves a request in this process; not before the server is constructed. */
  readonly handle: (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;
  /** The kinds that every logical cluster has without the extension. */
  readonly builtIns: readonly ResourceDefinition[];
  /** The kinds that the embedder adds to the built-in ones. */
  readonly resources: readonly ResourceDefinition[];
  /** Options of the client that calls hosts named by tenants. */
  readonly webhooks: Omit<WebhookClientOptions, "clock" | "serviceObjects">;
}

export interface ServerExtension {
  /** Kinds that every logical cluster serves. */
  readonly resources: readonly ResourceDefinition[];
  /** Kinds that only the logical cluster root serves. */
  readonly rootResources: readonly ResourceDefinition[];
  /**
   * Wraps the authorizer: decides which users may access a logical cluster at all. All users may,
   * if omitted.
   */
  readonly gate?: ((inner: Authorizer) => Authorizer) | undefined;
  /** Wraps RBAC: restricts further what roles permit. */
  readonly limit?: ((rbac: Authorizer) => Authorizer) | undefined;
  /**
   * The issuers whose tokens a logical cluster accepts, in addition to those that every logical
   * cluster accepts.
   */
  issuersIn(cluster: ClusterName): Promise<readonly ClusterIssuers[]>;
  /** Called once, before `start`. */
  complete(core: ServerCore): ServedExtension;
  /** Starts the extension; the watch hub must be open. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Creates the initial content of the logical cluster root. `externalUrl` is the address at which
   * clients reach this server, without a path.
   */
  bootstrap(externalUrl: string): Promise<void>;
}

/** The parts of the server that exist after the first step. */
export interface ServerCore {
  /** The complete authorizer. */
  readonly authorizer: Authorizer;
  /** The authorizer without the check for access to the logical cluster. */
  readonly rules: Authorizer;
  /** RBAC alone, without any restriction. */
  readonly roles: Authorizer;
  readonly customResources: Pick<CustomResources, "catalog" | "conversion" | "namesIn">;
}

export interface ServedExtension {
  readonly directory: ClusterDirectory;
  readonly services: ServiceViews;
  /** Admission plugins that run before all others. */
  readonly admissionPlugins: readonly AdmissionPlugin[];
}

/** An extension that adds nothing: the default of a server, and a base for small extensions. */
export function plainExtension(): ServerExtension {
  return {
    resources: [],
    rootResources: [],
    issuersIn: async () => [],
    complete: ({ customResources: { catalog } }) => ({
      directory: openDirectory(catalog),
      services: noViews,
      admissionPlugins: [],
    }),
    start: async () => {},
    stop: async () => {},
    bootstrap: async () => {},
  };
}
