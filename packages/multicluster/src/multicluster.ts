/**
 * All controllers of physical clusters as one unit, with any client that may do everything in every
 * logical cluster: in the control plane's own process or in another process.
 *
 * Without a SyncTarget, the controllers only hold idle watches.
 */
import {
  type Clock,
  type Random,
  systemClock,
  systemRandom,
  TaskGroup,
} from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  type Clusters,
  type Controller,
  logicalClusters,
  Manager,
  type ObjectKey,
  type PermitsAddress,
} from "@kcp-ts/sdk";
import { AgentInstaller, type AgentInstallerOptions, agentViewPath } from "./agent/index.ts";
import { syncedResourcesDefault, targetConditions } from "./api/index.ts";
import { apiAccess } from "./api-access/index.ts";
import { ApiImporter } from "./api-importer/index.ts";
import { ComputeExportController, SharedTargetIndex, TenantTargets } from "./compute/index.ts";
import {
  type GracePeriods,
  type MetadataInformers,
  sharedMetadata,
  unreachableAfterMsDefault,
  workloadCoordinators,
} from "./coordination/index.ts";
import { DrainController } from "./drain/index.ts";
import { NegotiationController } from "./negotiation/index.ts";
import {
  type ConnectFunction,
  describeHeldObject,
  type IsServerAlive,
  type LinkSettings,
  TargetController,
  Targets,
  type Unseal,
} from "./registration/index.ts";
import {
  ReservedResourcesController,
  Scheduler,
  WorkspaceController,
  type WorkspaceControllerOptions,
} from "./scheduling/index.ts";
import type { TargetIdentity } from "./syncer/index.ts";
import { Syncers } from "./syncers.ts";
import { type EndpointGracePeriods, traffic } from "./traffic/index.ts";
import { unreachablePods } from "./upsynced-pods/index.ts";
import { volumes } from "./volumes/index.ts";

/** Each controller can run alone; the API importer runs in the process that has the connections. */
export const multiclusterControllers = [
  "cluster-controller",
  "api-importer",
  "api-negotiation",
  "syncer",
  "scheduler",
  "deployment-splitter",
  "traffic",
  "volumes",
  "api-access",
] as const;
export type MulticlusterController = (typeof multiclusterControllers)[number];

export interface MulticlusterOptions {
  /** A client of the control plane, for all logical clusters. */
  readonly client: Client;
  /** The controllers to run; all if omitted. */
  readonly controllers?: ReadonlySet<MulticlusterController> | undefined;
  /** The resources that are imported and synced when a SyncTarget does not list any. */
  readonly resources?: readonly string[] | undefined;
  /** Whether negotiated APIs are published automatically; true if omitted. */
  readonly autoPublish?: boolean | undefined;
  readonly unseal?: Unseal | undefined;
  /**
   * The key by which syncers sign their namespaces in clusters; if omitted, namespaces are
   * identified by their annotations alone.
   */
  readonly namespaceKey?: (() => Promise<Uint8Array>) | undefined;
  /** The registry of connections, for controllers that work in the clusters. */
  readonly targets?: Targets | undefined;
  readonly link?: Partial<LinkSettings> | undefined;
  /**
   * Whether the address in a SyncTarget's kubeconfig may be connected to; all addresses if omitted.
   */
  readonly isAddressAllowed?: PermitsAddress | undefined;
  /** The connections to physical clusters, of all logical clusters together. */
  readonly connectionsMax?: number | undefined;
  readonly connect?: ConnectFunction | undefined;
  readonly importPollMs?: number | undefined;
  readonly drainTimeoutMs?: number | undefined;
  /** How agents are installed; if omitted, users install them. */
  readonly agents?: Omit<AgentInstallerOptions, "clock"> | undefined;
  /**
   * Whether a server process that held an agent's tunnel is alive; every server counts as alive if
   * omitted.
   */
  readonly isServerAlive?: IsServerAlive | undefined;
  /** The lifetime of the tokens by which Pods access their logical clusters. */
  readonly apiAccessTokenSeconds?: number | undefined;
  /** The grace periods of the coordinator for clusters that fail. */
  readonly gracePeriods?: Partial<GracePeriods> | undefined;
  /** The grace periods of the traffic controllers for endpoints of clusters that fail. */
  readonly endpointGracePeriods?: Partial<EndpointGracePeriods> | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** Logs an error that is retried. */
  readonly onError: (error: unknown, context: { controller: string; key?: ObjectKey }) => void;
}

/** Runs until the signal aborts, and resolves when all operations in flight have finished. */
export async function runMulticluster(
  given: MulticlusterOptions,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...given, client: given.client.withRequiredPreconditions() };
  const { client, clock = systemClock, random = systemRandom, onError } = options;
  const { controllers: parts = new Set(multiclusterControllers), targets = new Targets() } =
    options;
  const { resources = syncedResourcesDefault, autoPublish = true } = options;
  const report = (controller: string) => (error: unknown, key?: ObjectKey) =>
    onError(error, key === undefined ? { controller } : { controller, key });
  const running = new TaskGroup(signal);
  const clusters = logicalClusters({ client, clock, random, onError: report("informer") });
  const shared = { client, clusters, targets, resources, clock, random };
  // Controllers of this process leave a cluster with an agent to the agent.
  const working = { ...shared, targets: targets.localTargets };
  const controllers: Controller[] = [];
  const closing: (() => Promise<void>)[] = [];
  if (parts.has("api-negotiation")) {
    const part = new NegotiationController({
      ...shared,
      autoPublish,
      onError: report("api-negotiation"),
      onFailure: (error) => running.fail(error),
    });
    const offers = new ComputeExportController({ ...shared, onError: report("compute") });
    controllers.push(part.controller, offers.controller);
    closing.push(() => part.close());
  }
  if (parts.has("api-importer")) {
    const { importPollMs: pollMs } = options;
    const part = new ApiImporter({ ...working, pollMs, onError: report("api-importer") });
    controllers.push(part.controller);
  }
  if (parts.has("cluster-controller")) {
    const part = clusterControllers(options, { ...shared, onError: report });
    controllers.push(...part.controllers);
    closing.push(...part.closing);
  }
  if (parts.has("syncer")) {
    const agentViewOf = (target: TargetIdentity) => client.withBasePath(agentViewPath(target));
    const namespaceKey = await options.namespaceKey?.();
    const awaitsImport = parts.has("api-importer");
    const own = { agentViewOf, awaitsImport, namespaceKey, onError: report("syncer") };
    const part = new Syncers({ ...working, ...own });
    closing.unshift(() => part.close());
  }
  const consumers = new TenantTargets({ client, clock, random, onError: report("compute") });
  const sharedTargets = new SharedTargetIndex(clusters);
  const own = { ...shared, consumers, onError: report("scheduler") };
  const scheduling = schedulerFor(parts, own, sharedTargets);
  controllers.push(...scheduling.controllers);
  const manager = new Manager({ clusters: [clusters], controllers });
  const { scheduler } = scheduling;
  const metadata = sharedMetadata(client, clock);
  const used = { consumers, sharedTargets, scheduler, metadata, clock, onError: report };
  for (const loop of [
    manager,
    metadata,
    ...controllersOf({ ...options, controllers: parts }, used),
  ])
    running.start((stop) => loop.run(stop));
  try {
    await running.join();
  } finally {
    await Promise.all(closing.map((close) => close()));
  }
}

type Report = (controller: string) => (error: unknown, key?: ObjectKey) => void;

interface ControllerDependencies {
  readonly consumers: TenantTargets;
  readonly sharedTargets: SharedTargetIndex;
  readonly scheduler: Scheduler | undefined;
  readonly metadata: MetadataInformers;
  readonly clock: Clock;
  readonly onError: Report;
}

/** The controllers that have watches of their own. */
function controllersOf(
  options: MulticlusterOptions,
  { consumers, sharedTargets, scheduler, metadata, clock, onError }: ControllerDependencies,
): readonly { run(signal: AbortSignal): Promise<void> }[] {
  const { client, controllers = new Set() } = options;
  const loops: { run(signal: AbortSignal): Promise<void> }[] = [];
  const needUsers = ["scheduler", "deployment-splitter", "traffic", "volumes"] as const;
  if (needUsers.some((part) => controllers.has(part))) loops.push(consumers);
  if (controllers.has("deployment-splitter")) {
    const own = { ...options.gracePeriods, onError: onError("deployment-splitter") };
    const computeWorkspacesOf = (tenant: ClusterName) =>
      new Set(consumers.computeWorkspacesOf(tenant).values());
    const used = { targets: consumers, computeWorkspacesOf, scheduler, metadata };
    loops.push(workloadCoordinators({ client, clock, ...used, ...own }));
  }
  if (controllers.has("traffic")) {
    const { unreachableAfterMs = unreachableAfterMsDefault } = options.gracePeriods ?? {};
    const own = {
      ...options.endpointGracePeriods,
      unreachableAfterMs,
      onError: onError("traffic"),
    };
    loops.push(traffic({ client, clock, metadata, targets: consumers, ...own }));
  }
  if (controllers.has("volumes")) {
    const meant = {
      targetOf: (cluster: string, name: string) => sharedTargets.targetOf(cluster, name),
    };
    loops.push(
      volumes({
        client,
        clock,
        metadata,
        targets: consumers,
        ...meant,
        onError: onError("volumes"),
      }),
    );
  }
  if (controllers.has("api-access")) {
    const { agents, apiAccessTokenSeconds: tokenSeconds } = options;
    const own = { server: () => agents?.server(), tokenSeconds, onError: onError("api-access") };
    loops.push(apiAccess({ client, clock, ...own }));
  }
  return loops;
}

/**
 * The scheduler with its policies and its reservation cache, and the controllers that report both
 * to users.
 */
function schedulerFor(
  parts: ReadonlySet<MulticlusterController>,
  shared: WorkspaceControllerOptions,
  places: SharedTargetIndex,
): { readonly scheduler?: Scheduler; readonly controllers: readonly Controller[] } {
  const controllers: Controller[] = [];
  if (parts.has("scheduler")) controllers.push(new WorkspaceController(shared).controller);
  if (!parts.has("deployment-splitter")) return { controllers };
  const clusterKeyOf = (cluster: string, target: string) => places.clusterKeyOf(cluster, target);
  const scheduler = new Scheduler({
    clusters: shared.clusters,
    consumers: shared.consumers,
    clusterKeyOf,
  });
  controllers.push(new ReservedResourcesController({ ...shared, scheduler }).controller);
  return { scheduler, controllers };
}

interface ClusterDependencies {
  readonly client: Client;
  readonly clusters: Clusters;
  readonly targets: Targets;
  readonly resources: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: Report;
}

/**
 * The controllers that connect to clusters, drain them, and report the fate of workloads in lost
 * clusters.
 */
function clusterControllers(
  options: MulticlusterOptions,
  { onError, ...shared }: ClusterDependencies,
) {
  const { client, clusters, clock } = shared;
  const { unseal, drainTimeoutMs, isAddressAllowed, isServerAlive, link: settings } = options;
  const { connectionsMax, connect } = options;
  const installer = options.agents && new AgentInstaller({ ...options.agents, clock });
  const runs = (controller: MulticlusterController) =>
    options.controllers === undefined || options.controllers.has(controller);
  const awaitedConditions = [
    ...(runs("api-importer") ? [targetConditions.apiImporterReady] : []),
    ...(runs("syncer") ? [targetConditions.syncerReady] : []),
  ];
  const own = {
    unseal,
    drainTimeoutMs,
    isAddressAllowed,
    connectionsMax,
    connect,
    settings,
    installer,
    awaitedConditions,
    isServerAlive,
  };
  const part = new TargetController({ ...shared, ...own, onError: onError("cluster-controller") });
  const drains = new DrainController({
    clusters,
    clock,
    describeHeldObjectIn: (home, target, cluster, signal) =>
      describeHeldObject({ client: home, target, cluster, signal }),
    onError: onError("drain"),
  });
  const unreachableAfterMs = options.gracePeriods?.unreachableAfterMs ?? unreachableAfterMsDefault;
  const copies = unreachablePods({
    client,
    clusters,
    unreachableAfterMs,
    clock,
    onError: onError("lost-copies"),
  });
  return {
    controllers: [part.controller, drains.controller, copies.controller],
    closing: [() => part.close(), () => drains.close()],
  };
}
