/**
 * The traffic controllers as one unit, with any client that may do everything in every logical
 * cluster. They start when a cluster syncs Services: without that they cost nothing.
 */
import { type Clock, systemClock, TaskGroup } from "@kcp-ts/machinery/base";
import { type Client, type Clusters, logicalClusters, Manager, type ObjectKey } from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets, workloadStrategies } from "../api/index.ts";
import {
  type ClusterInfo,
  clusterInfoOf,
  type MetadataInformers,
  metadataAndTargets,
  unreachableAfterMsDefault,
} from "../coordination/index.ts";
import { watchCustomWorkloads } from "./custom-workloads.ts";
import { endpointGracePeriodsDefault, type TrafficGracePeriods } from "./endpoint-visibility.ts";
import { ingressController } from "./ingress-controller.ts";
import { services } from "./objects.ts";
import { serviceController } from "./service-controller.ts";
import { kindsSource, strategyIndexers } from "./workload-kinds.ts";

export interface TrafficOptions extends Partial<TrafficGracePeriods> {
  /** A client of the server, for all logical clusters, which may do everything. */
  readonly client: Client;
  /** The SyncTargets of each logical cluster; created and run here if omitted. */
  readonly targets?: Clusters | undefined;
  /** The metadata watches that controllers share; watches of its own if omitted. */
  readonly metadata?: MetadataInformers | undefined;
  readonly clock?: Clock;
  /** The number of Services, and of Ingresses, that are reconciled concurrently. */
  readonly concurrency?: number;
  /** Reports an error that is retried. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface Traffic {
  /**
   * Runs until the signal aborts, and resolves when all operations in flight have finished. Called
   * once.
   */
  run(signal: AbortSignal): Promise<void>;
}

const concurrencyDefault = 4;

export function traffic(options: TrafficOptions): Traffic {
  const { client, clock = systemClock, onError, concurrency = concurrencyDefault } = options;
  const { metadata } = options;
  const { withdrawMs, returnMs } = { ...endpointGracePeriodsDefault, ...options };
  const { unreachableAfterMs = unreachableAfterMsDefault } = options;
  const gracePeriods = { withdrawMs, returnMs, unreachableAfterMs };
  const targets = options.targets ?? logicalClusters({ client, clock, onError });
  const source = targets.source<SyncTarget, ClusterInfo>(syncTargets, { transform: clusterInfoOf });
  // The strategies are listed before any decision: without them, the Pods behind a Service are
  // unknown.
  const strategies = targets.source(workloadStrategies, { indexers: strategyIndexers });
  return {
    async run(signal) {
      const running = new TaskGroup(signal);
      let isWorking = false;
      const work = async (stop: AbortSignal) => {
        const clusters = metadataAndTargets({ client, targets, metadata, clock, onError });
        const shared = {
          clusters,
          targets: source.store,
          gracePeriods,
          clock,
          concurrency,
          onError,
        };
        const kinds = kindsSource(strategies.store);
        const ofServices = serviceController({ ...shared, kinds });
        const controllers = [ofServices.controller, ingressController(shared)];
        const custom = { client, metadata, clock, onError, strategies, services: ofServices };
        watchCustomWorkloads(custom, running);
        await new Manager({ clusters: [clusters], controllers }).run(stop);
      };
      const look = ({ synced, isReady }: ClusterInfo) => {
        if (isWorking || running.signal.aborted) return;
        if (!(synced?.includes(services.resource) ?? isReady)) return;
        isWorking = true;
        running.start(work);
      };
      source.addHandler({ added: look, updated: look });
      running.start((stop) => targets.run(stop));
      await running.join();
    },
  };
}
