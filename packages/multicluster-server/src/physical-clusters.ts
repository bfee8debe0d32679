/** What physical clusters add to a control plane: their kinds, the admission of SyncTargets, and the controllers that connect to them. */

import {
  type AdmissionPlugin,
  type Authorizer,
  isPrivateAddress,
  type ResourceDefinition,
  type Reviewers,
  type ServerLog,
  systemDefinition,
} from "@kcp-ts/apiserver";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  AgentPresence,
  type AgentServer,
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
  Targets,
  Tunnels,
  unreachableAfterMsDefault,
} from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { mayRegister } from "./may-sync.ts";
import { placementReviewDefinition, placementReviewers } from "./placement-reviews.ts";
import { SealingKey } from "./sealing-key.ts";
import { syncTargetAdmission } from "./sync-target-admission.ts";

/** What a Dockerfile in the root of this repository builds. */
export const agentImageDefault = "kcp-syncer:0.1.0";

export interface PhysicalClusterOptions {
  /** Which controllers run here; all if left out. */
  readonly parts?: readonly MulticlusterController[] | undefined;
  /** What is synced where a SyncTarget does not say. */
  readonly resourcesToSync?: readonly string[] | undefined;
  /** Whether negotiated APIs are served without being asked for; true if left out. */
  readonly autoPublishApis?: boolean | undefined;
  /** How often a cluster is asked whether its APIs have changed. */
  readonly importPollMs?: number | undefined;
  readonly link?: Partial<LinkSettings> | undefined;
  /** Kubeconfigs that lead to this machine, its network or link-local addresses are not followed. */
  readonly denyPrivateAddresses?: boolean | undefined;
  readonly drainTimeoutMs?: number | undefined;
  /** What agents are run from, where they are installed from here. */
  readonly agentImage?: string | undefined;
  /** How long the tokens are good for by which Pods talk to their logical clusters; a day if left out. */
  readonly apiAccessTokenSeconds?: number | undefined;
  /** How patient the splitter is with clusters that fail. */
  readonly patience?: Partial<GracePeriods> | undefined;
  /** How patient traffic is with endpoints of clusters that fail. */
  readonly sight?: Partial<EndpointGracePeriods> | undefined;
}

/** Those that agents may have dialled. */
export interface TunnelServers {
  /** Ways through the others. */
  readonly ways: PeerRouter;
  /** Of this one; undefined where others could not tell whether it is there. */
  readonly identity: string | undefined;
  isThere(identity: string, signal: AbortSignal): Promise<boolean>;
}

export interface PhysicalClustersDependencies {
  /** May do everything in the system's own logical cluster. */
  readonly client: () => Client;
  readonly clock: Clock;
  readonly log?: Pick<ServerLog, "info" | "warn"> | undefined;
  /** Says who may register clusters; only where requests are admitted. */
  readonly authorizer?: (() => Authorizer) | undefined;
  /** By which names workspaces use clusters of others; nobody does if it is left out. */
  readonly sharedTarget?: SharedTarget | undefined;
  /** This server and the others of this control plane; it is not known who is there if left out. */
  readonly servers?: TunnelServers | undefined;
}

export class PhysicalClusters {
  readonly resources: readonly ResourceDefinition[] = [
    ...multiclusterKinds.map(systemDefinition),
    placementReviewDefinition,
  ];
  readonly admissionPlugin: AdmissionPlugin;
  /** Agents that are connected to this process. */
  readonly tunnels: Tunnels;
  readonly connections: PodConnections;
  /** What the Pods of a logical cluster use. */
  readonly podMetrics: PodMetrics;
  readonly #reviewer: PlacementReviewer;
  readonly #presence: AgentPresence;
  readonly #servers: TunnelServers | undefined;
  readonly #key: SealingKey;
  readonly #targets = new Targets();
  #graceMs = unreachableAfterMsDefault;

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
      ...{ key: this.#key, client },
      mayRegister: async (user) =>
        authorizer === undefined || (await mayRegister(authorizer(), user)),
    });
    const onError = (error: unknown) =>
      log?.warn({ err: error }, "what an agent's tunnel does could not be said yet");
    this.#presence = new AgentPresence({
      ...{ client, clock, onError },
      server: () => servers?.identity,
    });
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
      peers: servers?.ways,
      sent: new DownsyncedPods(client),
    });
    this.podMetrics = new PodMetrics({ connections: this.connections, client, clock });
    this.#reviewer = new PlacementReviewer({
      ...{ client, clock },
      patience: () => ({ graceMs: this.#graceMs }),
    });
  }

  /** Who answers questions about placement. */
  reviewers(authorizer: Authorizer): Reviewers {
    return placementReviewers(this.#reviewer, authorizer);
  }

  /** A server that stops takes its tunnels along, and takes no agent for lost. */
  async close(): Promise<void> {
    await this.#presence.close();
    this.tunnels.close();
  }

  /** What the controllers are to do. `server` is where agents reach this one, as soon as that is known. */
  programOf(
    options: PhysicalClusterOptions,
    server: () => AgentServer | undefined,
  ): Omit<MulticlusterOptions, "client" | "onError"> {
    this.#graceMs = options.patience?.graceMs ?? unreachableAfterMsDefault;
    const servers = this.#servers;
    return {
      isServerThere: servers && ((server, signal) => servers.isThere(server, signal)),
      agents: { server, image: options.agentImage ?? agentImageDefault },
      parts: new Set(options.parts ?? multiclusterControllers),
      targets: this.#targets,
      resources: options.resourcesToSync,
      autoPublish: options.autoPublishApis,
      importPollMs: options.importPollMs,
      link: options.link,
      drainTimeoutMs: options.drainTimeoutMs,
      permits:
        options.denyPrivateAddresses === true ? (address) => !isPrivateAddress(address) : undefined,
      apiAccessTokenSeconds: options.apiAccessTokenSeconds,
      patience: options.patience,
      sight: options.sight,
      openSealed: (sealed, place) => this.#key.unseal(sealed, place),
      namespaceKey: () => this.#key.derived("namespaces of clusters"),
    };
  }
}

export interface PhysicalClusterProgram extends PhysicalClusterOptions {
  /** May do everything, in all logical clusters and in the system's own. */
  readonly client: Client;
  /** Where agents reach the control plane; none are installed without it. */
  readonly agentServer?: AgentServer | undefined;
  readonly onError: MulticlusterOptions["onError"];
}

/** The controllers alone, beside a control plane in another process. Works until the signal aborts. */
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
