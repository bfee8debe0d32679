/**
 * All that multi-cluster puts into a server, in the order in which it is built: its parts, the options that the server is made with, and then the
 * server itself, which some of the parts look into while requests are served.
 */
import {
  type ApiServer,
  type ApiServerOptions,
  type Authorizer,
  podMetricsKind,
  type ServerLog,
  type UserInfo,
} from "@kcp-ts/apiserver";
import type { Clock } from "@kcp-ts/machinery/base";
import type { AgentServer, MulticlusterOptions } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import type { TenancyExtension, TenancyExtensionOptions } from "@kcp-ts/tenancy";
import { apiAccessAdmission } from "./api-access-admission.ts";
import { upsyncAdmission } from "./copies-admission.ts";
import { SyncedNamespaces } from "./given-namespaces.ts";
import { type PeerAddress, Peers } from "./peers.ts";
import { type PhysicalClusterOptions, PhysicalClusters } from "./physical-clusters.ts";
import { placementReviewAuthorizer } from "./placement-reviews.ts";
import { podEndpoints } from "./pod-endpoints.ts";
import { SharedTargets } from "./shared-targets.ts";
import { syncerViews } from "./syncer-views.ts";

export interface MulticlusterServerOptions {
  /** May do everything; not used before the server starts. */
  readonly client: () => Client;
  /** A token by which this server, and no other, knows a user. */
  readonly tokenFor: (user: UserInfo) => string;
  /** Whether other servers may work on the store. */
  readonly isStoreShared: boolean;
  readonly clock: Clock;
  readonly log: ServerLog;
}

/** What the parts look into. */
export type ServerInside = Pick<
  ApiServer<TenancyExtension>,
  "authorizer" | "catalog" | "extension"
>;

/** What a server with physical clusters is made with. */
export type ServerAdditions = Required<
  Pick<
    ApiServerOptions,
    "admissionPlugins" | "besides" | "furtherReviewers" | "furtherSubresources" | "resources"
  >
>;

export class MulticlusterServer {
  readonly additions: ServerAdditions;
  /** The virtual workspaces that agents see. */
  readonly syncerViews: NonNullable<TenancyExtensionOptions["syncerViews"]>;
  /** Asked beside the roles of the logical cluster. */
  readonly authorizers: readonly Authorizer[];
  readonly #peers: Peers;
  readonly #physicalClusters: PhysicalClusters;
  #server: ServerInside | undefined;

  constructor({ client, clock, log, tokenFor, isStoreShared }: MulticlusterServerOptions) {
    const authorizer = () => this.#inside.authorizer;
    const shared = new SharedTargets({
      client,
      consumers: () => this.#inside.extension.exportConsumers,
    });
    const given = new SyncedNamespaces({ client, catalog: () => this.#inside.catalog });
    const peers = new Peers({ client, clock, log, tokenFor, isStoreShared });
    const clusters = new PhysicalClusters({
      ...{ client, clock, log, authorizer, servers: peers },
      sharedTarget: (cluster, name, signal) => shared.offered(cluster, name, signal),
    });
    const copies = upsyncAdmission({
      ...{ client, authorizer, given },
      sharedPlace: (cluster, name) => shared.placeOf(cluster, name),
    });
    this.#peers = peers;
    this.#physicalClusters = clusters;
    this.authorizers = [peers.authorizer, placementReviewAuthorizer];
    this.syncerViews = (sources) => syncerViews({ ...sources, client, given });
    this.additions = {
      admissionPlugins: [clusters.admissionPlugin, copies, apiAccessAdmission(client)],
      besides: [
        {
          definition: podMetricsKind(clusters.podMetrics),
          beside: { group: "", version: "v1", resource: "pods" },
        },
      ],
      furtherReviewers: (authorizer) => clusters.reviewers(authorizer),
      furtherSubresources: (authorizer) => {
        const ofPods = podEndpoints({ ...clusters, authorizer, client });
        const ofPeers = peers.endpoint(clusters.connections);
        return (definition, scope) => ofPods(definition, scope) ?? ofPeers(definition, scope);
      },
      resources: clusters.resources,
    };
  }

  get #inside(): ServerInside {
    if (this.#server === undefined) throw new Error("multi-cluster is used before its server");
    return this.#server;
  }

  /** The server that was made with the additions. */
  serveIn(server: ServerInside): void {
    this.#server = server;
  }

  /** Other servers of the store find this one there. */
  meetPeers(address: PeerAddress): void {
    this.#peers.start(address);
  }

  /** What the controllers are to do. `server` is where agents reach this one, as soon as that is known. */
  programOf(
    options: PhysicalClusterOptions,
    server: () => AgentServer | undefined,
  ): Omit<MulticlusterOptions, "client" | "onError"> {
    return this.#physicalClusters.programOf(options, server);
  }

  async close(): Promise<void> {
    await Promise.all([this.#peers.stop(), this.#physicalClusters.close()]);
  }
}
