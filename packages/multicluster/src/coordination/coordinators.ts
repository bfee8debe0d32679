/**
 * The coordinators of all kinds, each started when a cluster that is ready syncs its kind. What nobody syncs costs nothing.
 */
import { type Clock, systemClock, type Task, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import { type Client, type Clusters, logicalClusters, type ObjectKey } from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets } from "../api/index.ts";
import type { Scheduler } from "../scheduling/index.ts";
import { coordinate } from "./coordinator.ts";
import { CustomStrategies } from "./custom-strategies.ts";
import { deploymentStrategy } from "./deployment-strategy.ts";
import { propagateDependencies } from "./follow/follower.ts";
import { autoscalerStrategy } from "./kinds/autoscaler.ts";
import { clusterDaemonSetStrategy } from "./kinds/cluster-daemon-set.ts";
import { cronJobStrategy } from "./kinds/cron-job.ts";
import { daemonSetStrategy } from "./kinds/daemon-set.ts";
import { jobStrategy } from "./kinds/job.ts";
import { podStrategy } from "./kinds/pod.ts";
import { statefulSetStrategy } from "./kinds/stateful-set.ts";
import { type ClusterInfo, clusterInfoOf, type GracePeriods } from "./standing.ts";
import type { Strategy } from "./strategy.ts";

export interface CoordinatorsOptions extends Partial<GracePeriods> {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Which SyncTargets each logical cluster has; its own if left out. Run here. */
  readonly targets?: Clusters | undefined;
  /** Other logical clusters whose clusters one may use, as far as `targets` has those; none if left out. */
  readonly homesOf?: ((tenant: ClusterName) => Iterable<ClusterName>) | undefined;
  /** Policy and capacity; without it, every cluster takes everything. */
  readonly scheduler?: Scheduler | undefined;
  readonly clock?: Clock;
  /** Wholes of a kind at a time. */
  readonly concurrency?: number;
  /** All that there are if left out. */
  readonly strategies?: readonly Strategy[];
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface Coordinators {
  /** Works until the signal aborts, and resolves when what was under way is finished. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** As long as Kubernetes waits for a node, and a little more: a cluster is harder to lose. */
export const unreachableAfterMsDefault = 60_000;
export const recoveryMsDefault = 10_000;
const concurrencyDefault = 4;

/** In the order in which they are started. */
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
  const { graceMs = unreachableAfterMsDefault, settleMs = recoveryMsDefault } = options;
  const targets = options.targets ?? logicalClusters({ client, clock, onError });
  const { scheduler, homesOf } = options;
  const patience = { graceMs, settleMs };
  const shared = { client, clock, onError, concurrency, targets, homesOf, scheduler, patience };
  const known = targets.source<SyncTarget, ClusterInfo>(syncTargets, { transform: clusterInfoOf });
  const referrers = [...new Set(strategies.map(({ parts }) => parts))].filter(
    (kind) => kind !== autoscalerStrategy.parts,
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
        const taken = new Set(strategies.map(({ name }) => name));
        const onKind = (strategy: Strategy) => {
          all.add(strategy);
          for (const target of known.store.list()) look(target);
        };
        custom = new CustomStrategies({ client, clusters: targets, taken, clock, onKind, onError });
      }
      known.addHandler({ added: look, updated: look });
      running.start((stop) => targets.run(stop));
      await running.join();
    },
  };
}

/** Where nobody says what is synced, everything may be. */
function isSynced({ parts }: Strategy, { synced, isReady }: ClusterInfo): boolean {
  return synced?.includes(formatGroupResource(parts)) ?? isReady;
}

/** The coordinator of Deployments alone. */
export function deploymentCoordinator(
  options: Omit<CoordinatorsOptions, "strategies">,
): Coordinators {
  return workloadCoordinators({ ...options, strategies: [deploymentStrategy] });
}
