/**
 * The additions of physical clusters to a control plane: their kinds, the admission of SyncTargets,
 * and the controllers that connect to them.
 */
import {
  type AdmissionPlugin,
  type Authorizer,
  isPrivateAddress,
  type ResourceDefinition,
  type Reviewers,
  type ServerLog,
  systemDefinition,
} from "@kcp-ts/apiserver";
import { fileDescriptorShare } from "@kcp-ts/apiserver/request/file-descriptors";
import { type Clock, kcpVersion } from "@kcp-ts/machinery/base";
import {
  AgentPresence,
  type AgentServer,
  type ConnectFunction,
  DownsyncedPods,
  type EndpointGracePeriods,
  type GracePeriods,
  type LinkSettings,
  type MulticlusterController,
  type MulticlusterOptions,
  multiclusterControllers,
  multiclusterKinds,
  type PeerRouter,
  PlacementReviewer,
  PodConnections,
  PodMetrics,
  runMulticluster,
  type SharedTarget,
  syncedResourcesDefault,
  Targets,
  Tunnels,
  unreachableAfterMsDefault,
} from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { placementReviewDefinition, placementReviewers } from "./placement-reviews.ts";
import { SealingKey } from "./sealing-key.ts";
import { syncTargetAdmission } from "./sync-target-admission.ts";
import { mayRegister } from "./sync-target-verbs.ts";
import { withTemplateDefaults } from "./template-defaults.ts";

/** The image that the Dockerfile in the root of this repository builds. */
export const agentImageDefault = `kcp-syncer:${kcpVersion}`;

export interface PhysicalClusterOptions {
  /** The controllers to run; all if omitted. */
  readonly controllers?: readonly MulticlusterController[] | undefined;
  /** The resources to sync when a SyncTarget does not list any. */
  readonly resourcesToSync?: readonly string[] | undefined;
  /** Whether negotiated APIs are published automatically; true if omitted. */
  readonly autoPublishApis?: boolean | undefined;
  /** The interval of checks whether a cluster's APIs have changed. */
  readonly importPollMs?: number | undefined;
  readonly link?: Partial<LinkSettings> | undefined;
  /** Rejects kubeconfigs with loopback, private or link-local addresses. */
  readonly denyPrivateAddresses?: boolean | undefined;
  readonly drainTimeoutMs?: number | undefined;
  /** The image of agents that the control plane installs. */
  readonly agentImage?: string | undefined;
  /** The lifetime of the tokens by which Pods access their logical clusters; a day if omitted. */
  readonly apiAccessTokenSeconds?: number | undefined;
  /** The grace periods of the coordinator for clusters that fail. */
  readonly gracePeriods?: Partial<GracePeriods> | undefined;
  /** The grace periods of the traffic controllers for endpoints of clusters that fail. */
  readonly endpointGracePeriods?: Partial<EndpointGracePeriods> | undefined;
  readonly connect?: ConnectFunction | undefined;
}

/** The servers that agents may have dialled. */
export interface TunnelServers {
  /** Routes through the other servers. */
  readonly router: PeerRouter;
  /** The identity of this server; undefined where others cannot check whether it is alive. */
  readonly identity: string | undefined;
  isAlive(identity: string, signal: AbortSignal): Promise<boolean>;
}

export interface PhysicalClustersDependencies {
  /** A client that may do everything in the system logical cluster. */
  readonly client: () => Client;
  readonly clock: Clock;
  readonly log?: Pick<ServerLog, "info" | "warn"> | undefined;
  /** Decides who may register clusters; only where requests are admitted. */
  readonly authorizer?: (() => Authorizer) | undefined;
  /**
   * Resolves the names by which workspaces use clusters of others; no workspace does if omitted.
   */
  readonly sharedTarget?: SharedTarget | undefined;
  /**
   * This server and the other servers of this control plane; their liveness is unknown if omitted.
   */
  readonly servers?: TunnelServers | undefined;
}

export class PhysicalClusters {
  readonly resources: readonly ResourceDefinition[] = [
    ...multiclusterKinds.map((kind) => withTemplateDefaults(systemDefinition(kind))),
    placementReviewDefinition,
  ];
  readonly admissionPlugin: AdmissionPlugin;
  /** The agents that are connected to this process. */
  readonly tunnels: Tunnels;
  readonly connections: PodConnections;
  /** The metrics of a logical cluster's Pods. */
  readonly podMetrics: PodMetrics;
  readonly #reviewer: PlacementReviewer;
  readonly #presence: AgentPresence;
  readonly #servers: TunnelServers | undefined;
  readonly #key: SealingKey;
  readonly #targets = new Targets();
  #unreachableAfterMs = unreachableAfterMsDefault;
  #resourcesToSync: readonly string[] = syncedResourcesDefault;

  constructor({
    client,
    clock,
    log,
    sharedTarget,
    servers,
    authorizer,
  }: PhysicalClustersDependencies) {
    this.#servers = servers;
    this.#key = new SealingKey(client);
    this.admissionPlugin = syncTargetAdmission({
      key: this.#key,
      client,
      mayRegister: async (user) =>
        authorizer === undefined || (await mayRegister(authorizer(), user)),
    });
    const onError = (error: unknown) =>
      log?.warn({ err: error }, "what an agent's tunnel does could not be said yet");
    this.#presence = new AgentPresence({ client, clock, onError, server: () => servers?.identity });
    this.tunnels = new Tunnels({
      clock,
      presence: this.#presence,
      onChange: ({ cluster, name }, isConnected, error) =>
        log?.info(
          { cluster, syncTarget: name, ...(error === undefined ? {} : { err: error }) },
          isConnected ? "an agent's tunnel is open" : "an agent's tunnel has ended",
        ),
    });
    this.connections = new PodConnections({
      targets: this.#targets,
      tunnels: this.tunnels,
      sharedTarget,
      peers: servers?.router,
      downsyncedPods: new DownsyncedPods(client),
    });
    this.podMetrics = new PodMetrics({ connections: this.connections, client, clock });
    this.#reviewer = new PlacementReviewer({
      client,
      clock,
      gracePeriods: () => ({ unreachableAfterMs: this.#unreachableAfterMs }),
    });
  }

  /** The resources to sync when a SyncTarget does not list any. */
  get resourcesToSync(): readonly string[] {
    return this.#resourcesToSync;
  }

  /** The reviewers of placement reviews. */
  reviewers(authorizer: Authorizer): Reviewers {
    return placementReviewers(this.#reviewer, authorizer);
  }

  /** A server that stops closes its tunnels, and reports no agent as lost. */
  async close(): Promise<void> {
    await this.#presence.close();
    this.tunnels.close();
  }

  /**
   * The program of the controllers. `server` is the address at which agents reach this server, when
   * it is known.
   */
  programOf(
    options: PhysicalClusterOptions,
    server: () => AgentServer | undefined,
  ): Omit<MulticlusterOptions, "client" | "onError"> {
    this.#resourcesToSync = options.resourcesToSync ?? syncedResourcesDefault;
    this.#unreachableAfterMs =
      options.gracePeriods?.unreachableAfterMs ?? unreachableAfterMsDefault;
    const servers = this.#servers;
    return {
      isServerAlive: servers && ((server, signal) => servers.isAlive(server, signal)),
      agents: { server, image: options.agentImage ?? agentImageDefault },
      controllers: new Set(options.controllers ?? multiclusterControllers),
      targets: this.#targets,
      resources: options.resourcesToSync,
      autoPublish: options.autoPublishApis,
      importPollMs: options.importPollMs,
      link: options.link,
      drainTimeoutMs: options.drainTimeoutMs,
      connectionsMax: fileDescriptorShare("physicalClusters"),
      connect: options.connect,
      isAddressAllowed:
        options.denyPrivateAddresses === true ? (address) => !isPrivateAddress(address) : undefined,
      apiAccessTokenSeconds: options.apiAccessTokenSeconds,
      gracePeriods: options.gracePeriods,
      endpointGracePeriods: options.endpointGracePeriods,
      unseal: (sealed, place) => this.#key.unseal(sealed, place),
      namespaceKey: () => this.#key.derived("namespaces of clusters"),
    };
  }
}

export interface PhysicalClusterProgram extends PhysicalClusterOptions {
  /** A client that may do everything, in all logical clusters and in the system logical cluster. */
  readonly client: Client;
  /** The address at which agents reach the control plane; without it, no agents are installed. */
  readonly agentServer?: AgentServer | undefined;
  readonly onError: MulticlusterOptions["onError"];
}

/** Runs only the controllers, for a control plane in another process, until the signal aborts. */
export async function runPhysicalClusters(
  { client, onError, agentServer, ...options }: PhysicalClusterProgram,
  signal: AbortSignal,
): Promise<void> {
  const program = new PhysicalClusters({ client: () => client, clock: client.clock }).programOf(
    options,
    () => agentServer,
  );
  await runMulticluster({ ...program, client, onError }, signal);
}
