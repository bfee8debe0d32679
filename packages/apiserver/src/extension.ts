/**
 * What a server can be extended by: kinds that it serves by itself, a directory of its logical
 * clusters, gates in front of their rules, views.
 *
 * An extension is made in two steps, since each of the two needs something of the other: what it
 * adds to authorization and to the kinds is asked for before these are put together, and it is
 * completed with them.
 */
import type { Clock, Random, Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { AdmissionPlugin } from "./admission/index.ts";
import type { ClusterIssuers } from "./authentication/index.ts";
import type { Authorizer } from "./authorization/index.ts";
import { type ClusterDirectory, openDirectory } from "./cluster-directory.ts";
import type { CustomResources } from "./custom-resources/index.ts";
import type { Registry, ResourceDefinition } from "./registry/index.ts";
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
  /** What every logical cluster has without the extension. */
  readonly builtIns: readonly ResourceDefinition[];
  /** What the embedder adds to it. */
  readonly resources: readonly ResourceDefinition[];
  /** How hosts are called that tenants name. */
  readonly webhooks: Omit<WebhookClientOptions, "clock" | "serviceObjects">;
}

export interface ServerExtension {
  /** Served in every logical cluster. */
  readonly resources: readonly ResourceDefinition[];
  /** Served in root alone. */
  readonly rootResources: readonly ResourceDefinition[];
  /**
   * Put in front of the authorizer: decides who may enter a logical cluster at all. Everybody may
   * if it is left out.
   */
  readonly gate?: ((inner: Authorizer) => Authorizer) | undefined;
  /** Put around RBAC: what roles allow may still be too much. */
  readonly limit?: ((rbac: Authorizer) => Authorizer) | undefined;
  /** Whose tokens are believed in a logical cluster, besides those that are believed everywhere. */
  issuersIn(cluster: ClusterName): Promise<readonly ClusterIssuers[]>;
  /** Called once, before `start`. */
  complete(core: ServerCore): ServedExtension;
  /** The hub must be open. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Makes what the logical cluster root begins with. `externalUrl` is where clients reach this
   * server, without a path.
   */
  bootstrap(externalUrl: string): Promise<void>;
}

/** What the server has made with the first step. */
export interface ServerCore {
  /** The whole of authorization. */
  readonly authorizer: Authorizer;
  /** What it says of those who may enter, whether or not they may. */
  readonly rules: Authorizer;
  /** What roles say, without any limit. */
  readonly roles: Authorizer;
  readonly customResources: Pick<CustomResources, "catalog" | "conversion" | "namesIn">;
}

export interface ServedExtension {
  readonly directory: ClusterDirectory;
  readonly services: ServiceViews;
  /** They run before all others. */
  readonly admissionPlugins: readonly AdmissionPlugin[];
}

/** Adds nothing: what a server has without an extension, and what a small one begins with. */
export function plainExtension(): ServerExtension {
  return {
    resources: [],
    rootResources: [],
    issuersIn: async () => [],
    complete: ({ customResources: { catalog } }) => ({
      ...{ directory: openDirectory(catalog), services: noViews, admissionPlugins: [] },
    }),
    start: async () => {},
    stop: async () => {},
    bootstrap: async () => {},
  };
}
