/**
 * The coordinators of all kinds. Each coordinator starts when a ready cluster syncs its kind; a
 * kind that no cluster syncs costs nothing.
 */
import { type Clock, systemClock, type Task, TaskGroup } from "@kcp-ts/machinery/base";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import { type Client, type Clusters, logicalClusters, type ObjectKey } from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets } from "../api/index.ts";
import type { Scheduler } from "../scheduling/index.ts";
import { CacheBarrier } from "./cache-barrier.ts";
import { type ClusterInfo, clusterInfoOf, type GracePeriods } from "./cluster-state.ts";
import { coordinate } from "./coordinator.ts";
import { CustomStrategies } from "./custom-strategies.ts";
import { propagateDependencies } from "./dependencies/dependency-propagator.ts";
import { deploymentStrategy } from "./deployment-strategy.ts";
import { autoscalerStrategy } from "./kinds/autoscaler.ts";
import { clusterDaemonSetStrategy } from "./kinds/cluster-daemon-set.ts";
import { cronJobStrategy } from "./kinds/cron-job.ts";
import { daemonSetStrategy } from "./kinds/daemon-set.ts";
import { jobStrategy } from "./kinds/job.ts";
import { podStrategy } from "./kinds/pod.ts";
import { statefulSetStrategy } from "./kinds/stateful-set.ts";
import type { MetadataInformers } from "./metadata-informers.ts";
import type { Strategy } from "./strategy.ts";

export interface CoordinatorsOptions extends Partial<GracePeriods> {
  /** Client of the server, not of one logical cluster. It must be allowed everything. */
  readonly client: Client;
  /**
   * The SyncTargets that each logical cluster may use; its own if omitted. The coordinators run it.
   */
  readonly targets?: Clusters | undefined;
  /**
   * Compute workspaces whose clusters a tenant may use, as far as `targets` contains these
   * clusters; none if omitted.
   */
  readonly computeWorkspacesOf?: ((tenant: ClusterName) => Iterable<ClusterName>) | undefined;
  /** Policy and capacity; without a scheduler, every cluster accepts every workload. */
  readonly scheduler?: Scheduler | undefined;
  /** The metadata watches that controllers share; watches of its own if omitted. */
  readonly metadata?: MetadataInformers | undefined;
  readonly clock?: Clock;
  /** Workloads of a kind that are reconciled concurrently. */
  readonly concurrency?: number;
  /** The kinds to coordinate; every known kind if omitted. */
  readonly strategies?: readonly Strategy[];
  /** Receives errors that the coordinators retry. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface Coordinators {
  /**
   * Runs until the signal aborts, and resolves when the reconciles in flight have finished. To be
   * called once.
   */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Slightly longer than Kubernetes waits for a node: a cluster is less likely to fail than a node.
 */
export const unreachableAfterMsDefault = 60_000;
export const recoveryMsDefault = 10_000;
const concurrencyDefault = 4;

/** The kinds, in the order in which their coordinators start. */
export const strategiesDefault: readonly Strategy[] = [
  deploymentStrategy,
  statefulSetStrategy,
  daemonSetStrategy,
  jobStrategy,
  cronJobStrategy,
  podStrategy,
  autoscalerStrategy,
  clusterDaemonSetStrategy,
];

export function workloadCoordinators(options: CoordinatorsOptions): Coordinators {
  const { client, clock = systemClock, onError, concurrency = concurrencyDefault } = options;
  const { strategies = strategiesDefault } = options;
  const { unreachableAfterMs = unreachableAfterMsDefault, recoveryMs = recoveryMsDefault } =
    options;
  const targets = options.targets ?? logicalClusters({ client, clock, onError });
  const { scheduler, computeWorkspacesOf, metadata } = options;
  const gracePeriods = { unreachableAfterMs, recoveryMs };
  const shared = {
    client,
    clock,
    onError,
    concurrency,
    targets,
    computeWorkspacesOf,
    scheduler,
    metadata,
    barrier: new CacheBarrier(),
    gracePeriods,
  };
  const known = targets.source<SyncTarget, ClusterInfo>(syncTargets, { transform: clusterInfoOf });
  const referrers = [...new Set(strategies.map(({ copies }) => copies))].filter(
    (kind) => kind !== autoscalerStrategy.copies,
  );
  return {
    async run(signal) {
      const running = new TaskGroup(signal);
      const started = new Set<Strategy | "follower">();
      const run = (what: Strategy | "follower", work: Task) => {
        if (started.has(what) || running.signal.aborted) return;
        started.add(what);
        running.start(work);
      };
      const start = (strategy: Strategy) =>
        run(strategy, (stop) => coordinate({ ...shared, strategy }, stop));
      let custom: CustomStrategies | undefined;
      const startFollower = () =>
        run("follower", (stop) => propagateDependencies({ ...shared, referrers, custom }, stop));
      const all = new Set(strategies);
      const look = (target: ClusterInfo) => {
        for (const strategy of all) if (isSynced(strategy, target)) start(strategy);
        if (options.strategies === undefined && target.isReady) startFollower();
      };
      if (options.strategies === undefined) {
        const kindsWithStrategy = new Set(strategies.map(({ name }) => name));
        const onKind = (strategy: Strategy) => {
          all.add(strategy);
          for (const target of known.store.list()) look(target);
        };
        custom = new CustomStrategies({
          client,
          clusters: targets,
          kindsWithStrategy,
          clock,
          onKind,
          onError,
        });
      }
      known.addHandler({ added: look, updated: look });
      // The SyncTargets say which kinds there are, and each kind adds its own cache.
      shared.barrier.add(
        targetsKnown(targets, scheduler).then(() => known.store.list().forEach(look)),
      );
      running.start((stop) => targets.run(stop));
      await running.join();
    },
  };
}

async function targetsKnown(targets: Clusters, scheduler: Scheduler | undefined): Promise<void> {
  await Promise.all([targets.ready(rootCluster), scheduler?.ready(rootCluster)]);
}

/** A SyncTarget that does not list its synced resources may sync every resource. */
function isSynced({ copies }: Strategy, { synced, isReady }: ClusterInfo): boolean {
  return synced?.includes(formatGroupResource(copies)) ?? isReady;
}

/** The coordinator of Deployments alone. */
export function deploymentCoordinator(
  options: Omit<CoordinatorsOptions, "strategies">,
): Coordinators {
  return workloadCoordinators({ ...options, strategies: [deploymentStrategy] });
}
