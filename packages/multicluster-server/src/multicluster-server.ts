/**
 * The multi-cluster additions to a server, in the order of their construction: the components, the
 * options that the server is created with, and then the server itself, which some components read
 * while requests are served.
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
import { limitGateAdmission } from "./limit-gate-admission.ts";
import { type PeerAddress, Peers } from "./peers.ts";
import { type PhysicalClusterOptions, PhysicalClusters } from "./physical-clusters.ts";
import { placementReviewAuthorizer } from "./placement-reviews.ts";
import { podEndpoints } from "./pod-endpoints.ts";
import { SharedTargets } from "./shared-targets.ts";
import { SyncedNamespaces } from "./synced-namespaces.ts";
import { syncerViews } from "./syncer-views.ts";
import { upsyncAdmission } from "./upsync-admission.ts";
import { workloadPlacementAdmission } from "./workload-placement-admission.ts";

export interface MulticlusterServerOptions {
  /** A client that may do everything; not used before the server starts. */
  readonly client: () => Client;
  /** Creates a token that only this server accepts. */
  readonly tokenFor: (user: UserInfo) => string;
  /** Whether other servers may use the store. */
  readonly isStoreShared: boolean;
  readonly clock: Clock;
  readonly log: ServerLog;
}

/** The properties of the server that the components read. */
export type ServerInside = Pick<
  ApiServer<TenancyExtension>,
  "authorizer" | "catalog" | "extension"
>;

/** The options of a server with physical clusters. */
export type ServerAdditions = Required<
  Pick<
    ApiServerOptions,
    | "admissionPlugins"
    | "virtualResources"
    | "additionalReviewers"
    | "additionalSubresources"
    | "resources"
  >
>;

export class MulticlusterServer {
  readonly additions: ServerAdditions;
  /** The virtual workspaces for agents. */
  readonly syncerViews: NonNullable<TenancyExtensionOptions["syncerViews"]>;
  /** Authorizers in addition to the roles of the logical cluster. */
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
    const syncedNamespaces = new SyncedNamespaces({ client, catalog: () => this.#inside.catalog });
    const peers = new Peers({ client, clock, log, tokenFor, isStoreShared });
    const clusters = new PhysicalClusters({
      client,
      clock,
      log,
      authorizer,
      servers: peers,
      sharedTarget: (cluster, name, signal) => shared.sharedTargetsOf(cluster, name, signal),
    });
    const copies = upsyncAdmission({
      client,
      syncedNamespaces,
      sharedPlace: (cluster, name) => shared.targetOf(cluster, name),
    });
    this.#peers = peers;
    this.#physicalClusters = clusters;
    this.authorizers = [peers.authorizer, placementReviewAuthorizer];
    const resourcesToSync = () => clusters.resourcesToSync;
    this.syncerViews = (sources) =>
      syncerViews({ ...sources, client, syncedNamespaces, resourcesToSync });
    this.additions = {
      admissionPlugins: [
        clusters.admissionPlugin,
        copies,
        apiAccessAdmission(),
        workloadPlacementAdmission,
        ...limitGateAdmission(client),
      ],
      virtualResources: [
        {
          definition: podMetricsKind(clusters.podMetrics),
          servedWith: { group: "", version: "v1", resource: "pods" },
        },
      ],
      additionalReviewers: (authorizer) => clusters.reviewers(authorizer),
      additionalSubresources: (authorizer) => {
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

  /** Attaches the server that was created with the additions. */
  serveIn(server: ServerInside): void {
    this.#server = server;
  }

  /** Publishes the address at which other servers of the store find this one. */
  meetPeers(address: PeerAddress): void {
    this.#peers.start(address);
  }

  /**
   * The program of the controllers. `server` is the address at which agents reach this server, when
   * it is known.
   */
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
