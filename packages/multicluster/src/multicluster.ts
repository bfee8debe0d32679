/**
 * The controllers of physical clusters as one thing that runs, over any client that may do everything in every logical cluster: in the
 * control plane's own process or beside it.
 *
 * Without a SyncTarget it is some watches that say nothing.
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
import { apiAccess } from "./api-access/index.ts";
import { ApiImporter } from "./api-importer/index.ts";
import { ComputeExportController, SharedTargetIndex, TenantTargets } from "./compute/index.ts";
import {
  type GracePeriods,
  unreachableAfterMsDefault,
  workloadCoordinators,
} from "./coordination/index.ts";
import { unreachablePods } from "./copies/index.ts";
import { DrainController } from "./drain/index.ts";
import { NegotiationController } from "./negotiation/index.ts";
import {
  describeHeldObject,
  heldObjectResources,
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
import { volumes } from "./volumes/index.ts";

/** Each runs alone, too; the importer works where the connections are. */
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
  /** Of the control plane, not of one cluster of it. */
  readonly client: Client;
  /** All if left out. */
  readonly parts?: ReadonlySet<MulticlusterController> | undefined;
  /** What is imported and synced where a SyncTarget does not say. */
  readonly resources?: readonly string[] | undefined;
  /** Whether APIs that were negotiated are served without being asked for; true if left out. */
  readonly autoPublish?: boolean | undefined;
  readonly openSealed?: Unseal | undefined;
  /** What proves that namespaces in clusters were made by their syncers; they are known by what they say of themselves if left out. */
  readonly namespaceKey?: (() => Promise<Uint8Array>) | undefined;
  /** Where connections are handed out; for those who work in the clusters. */
  readonly targets?: Targets | undefined;
  readonly link?: Partial<LinkSettings> | undefined;
  /** Whether an address that a SyncTarget's kubeconfig leads to may be connected to; all may if left out. */
  readonly permits?: PermitsAddress | undefined;
  readonly importPollMs?: number | undefined;
  readonly drainTimeoutMs?: number | undefined;
  /** How agents are installed; where it is left out, people install them. */
  readonly agents?: Omit<AgentInstallerOptions, "clock"> | undefined;
  /** Whether a server process that has had an agent's tunnel is still there; none is held for gone if left out. */
  readonly isServerThere?: IsServerAlive | undefined;
  /** How long the tokens are good for by which Pods talk to their logical clusters. */
  readonly apiAccessTokenSeconds?: number | undefined;
  /** How patient the splitter is with clusters that fail. */
  readonly patience?: Partial<GracePeriods> | undefined;
  /** How patient traffic is with endpoints of clusters that fail. */
  readonly sight?: Partial<EndpointGracePeriods> | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** What went wrong and is tried again, for a log. */
  readonly onError: (error: unknown, context: { controller: string; key?: ObjectKey }) => void;
}

/** What workloads are, with what they need; ReplicaSets and ControllerRevisions for the history of those that are split, the rest for traffic over several clusters. */
export const syncedResourcesDefault: readonly string[] = [
  "deployments.apps",
  "pods",
  "replicasets.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "controllerrevisions.apps",
  "jobs.batch",
  "cronjobs.batch",
  "horizontalpodautoscalers.autoscaling",
  "poddisruptionbudgets.policy",
  "configmaps",
  "secrets",
  "serviceaccounts",
  "persistentvolumeclaims",
  "services",
  "ingresses.networking.k8s.io",
  "endpointslices.discovery.k8s.io",
  "serviceimports.multicluster.x-k8s.io",
];

/** Works until the signal aborts, and resolves when what was under way is finished. */
export async function runMulticluster(
  given: MulticlusterOptions,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...given, client: given.client.withPreconditions("never-empty") };
  const { client, clock = systemClock, random = systemRandom, onError } = options;
  const { parts = new Set(multiclusterControllers), targets = new Targets() } = options;
  const { resources = syncedResourcesDefault, autoPublish = true } = options;
  const report = (controller: string) => (error: unknown, key?: ObjectKey) =>
    onError(error, key === undefined ? { controller } : { controller, key });
  const running = new TaskGroup(signal);
  const clusters = logicalClusters({ client, clock, random, onError: report("informer") });
  const shared = { client, clusters, targets, resources, clock, random };
  // Where agents work, nobody else does.
  const working = { ...shared, targets: targets.workedInHere };
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
    const part = clusterControllers(options, { ...shared, report });
    controllers.push(...part.controllers);
    closing.push(...part.closing);
  }
  if (parts.has("syncer")) {
    const viewOf = (target: TargetIdentity) => client.withBasePath(agentViewPath(target));
    const namespaceKey = await options.namespaceKey?.();
    const part = new Syncers({ ...working, viewOf, namespaceKey, onError: report("syncer") });
    closing.unshift(() => part.close());
  }
  const users = new TenantTargets({ client, clock, random, onError: report("compute") });
  const places = new SharedTargetIndex(clusters);
  const own = { ...shared, users, onError: report("scheduler") };
  const scheduling = schedulerFor(parts, own, places);
  controllers.push(...scheduling.controllers);
  const manager = new Manager({ clusters: [clusters], controllers });
  const { scheduler } = scheduling;
  const used = { users, places, scheduler, clock, report };
  for (const loop of [manager, ...controllersOf({ ...options, parts }, used)])
    running.start((stop) => loop.run(stop));
  try {
    await running.join();
  } finally {
    await Promise.all(closing.map((close) => close()));
  }
}

type Report = (controller: string) => (error: unknown, key?: ObjectKey) => void;

interface ControllerDependencies {
  readonly users: TenantTargets;
  readonly places: SharedTargetIndex;
  readonly scheduler: Scheduler | undefined;
  readonly clock: Clock;
  readonly report: Report;
}

/** Those that watch for themselves. */
function controllersOf(
  options: MulticlusterOptions,
  { users, places, scheduler, clock, report }: ControllerDependencies,
): readonly { run(signal: AbortSignal): Promise<void> }[] {
  const { client, parts = new Set() } = options;
  const loops: { run(signal: AbortSignal): Promise<void> }[] = [];
  const needUsers = ["scheduler", "deployment-splitter", "traffic", "volumes"] as const;
  if (needUsers.some((part) => parts.has(part))) loops.push(users);
  if (parts.has("deployment-splitter")) {
    const own = { ...options.patience, onError: report("deployment-splitter") };
    const homesOf = (tenant: ClusterName) => new Set(users.homesOf(tenant).values());
    const used = { targets: users, homesOf, scheduler };
    loops.push(workloadCoordinators({ client, clock, ...used, ...own }));
  }
  if (parts.has("traffic")) {
    const { graceMs = unreachableAfterMsDefault } = options.patience ?? {};
    const own = { ...options.sight, graceMs, onError: report("traffic") };
    loops.push(traffic({ client, clock, targets: users, ...own }));
  }
  if (parts.has("volumes")) {
    const meant = { targetOf: (cluster: string, name: string) => places.targetOf(cluster, name) };
    loops.push(volumes({ client, clock, targets: users, ...meant, onError: report("volumes") }));
  }
  if (parts.has("api-access")) {
    const { agents, apiAccessTokenSeconds: tokenSeconds } = options;
    const own = { server: () => agents?.server(), tokenSeconds, onError: report("api-access") };
    loops.push(apiAccess({ client, clock, ...own }));
  }
  return loops;
}

/** Who decides where things go knows the policies and what is reserved; somebody says both to people. */
function schedulerFor(
  parts: ReadonlySet<MulticlusterController>,
  shared: WorkspaceControllerOptions,
  places: SharedTargetIndex,
): { readonly scheduler?: Scheduler; readonly controllers: readonly Controller[] } {
  const controllers: Controller[] = [];
  if (parts.has("scheduler")) controllers.push(new WorkspaceController(shared).controller);
  if (!parts.has("deployment-splitter")) return { controllers };
  const placeOf = (cluster: string, target: string) => places.placeOf(cluster, target);
  const scheduler = new Scheduler({ clusters: shared.clusters, users: shared.users, placeOf });
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
  readonly report: Report;
}

/** Who connects to clusters, empties them, and says what became of those that are lost. */
function clusterControllers(
  options: MulticlusterOptions,
  { report, ...shared }: ClusterDependencies,
) {
  const { client, clusters, clock, resources } = shared;
  const { openSealed, drainTimeoutMs, permits, isServerThere, link: settings } = options;
  const installer = options.agents && new AgentInstaller({ ...options.agents, clock });
  const awaitsImport = options.parts === undefined || options.parts.has("api-importer");
  const own = {
    ...{ openSealed, drainTimeoutMs, permits, settings, installer, awaitsImport, isServerThere },
  };
  const part = new TargetController({ ...shared, ...own, onError: report("cluster-controller") });
  const drains = new DrainController({
    clusters,
    clock,
    leftoverOf: (home, target, cluster, signal) =>
      describeHeldObject(heldObjectResources(home, target, cluster, { resources, signal })),
    onError: report("drain"),
  });
  const graceMs = options.patience?.graceMs ?? unreachableAfterMsDefault;
  const copies = unreachablePods({
    ...{ client, clusters, graceMs, clock, onError: report("lost-copies") },
  });
  return {
    controllers: [part.controller, drains.controller, copies.controller],
    closing: [() => part.close(), () => drains.close()],
  };
}
