/**
 * The traffic controllers as one thing that runs, over any client that may do everything in every logical cluster. They start when a cluster syncs Services: what
 * nobody syncs costs nothing.
 */
import { type Clock, systemClock, TaskGroup } from "@kcp-ts/machinery/base";
import { type Client, type Clusters, logicalClusters, Manager, type ObjectKey } from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets, workloadStrategies } from "../api/index.ts";
import {
  type ClusterInfo,
  clusterInfoOf,
  metadataAndTargets,
  unreachableAfterMsDefault,
} from "../coordination/index.ts";
import { watchCustomWorkloads } from "./custom-workloads.ts";
import { ingressController } from "./ingress-controller.ts";
import { services } from "./objects.ts";
import { serviceController } from "./service-controller.ts";
import { endpointGracePeriodsDefault, type TrafficGracePeriods } from "./sight.ts";
import { kindsSource, strategyIndexers } from "./workload-kinds.ts";

export interface TrafficOptions extends Partial<TrafficGracePeriods> {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Which SyncTargets each logical cluster has; its own if left out. Run here. */
  readonly targets?: Clusters | undefined;
  readonly clock?: Clock;
  /** Services, and Ingresses, at a time. */
  readonly concurrency?: number;
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface Traffic {
  /** Works until the signal aborts, and resolves when what was under way is finished. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

const concurrencyDefault = 4;

export function traffic(options: TrafficOptions): Traffic {
  const { client, clock = systemClock, onError, concurrency = concurrencyDefault } = options;
  const { withdrawMs, returnMs } = { ...endpointGracePeriodsDefault, ...options };
  const { graceMs = unreachableAfterMsDefault } = options;
  const patience = { withdrawMs, returnMs, graceMs };
  const targets = options.targets ?? logicalClusters({ client, clock, onError });
  const source = targets.source<SyncTarget, ClusterInfo>(syncTargets, { transform: clusterInfoOf });
  // Known before anything is decided: whose Pods a Service has is not known without them.
  const strategies = targets.source(workloadStrategies, { indexers: strategyIndexers });
  return {
    async run(signal) {
      const running = new TaskGroup(signal);
      let isWorking = false;
      const work = async (stop: AbortSignal) => {
        const clusters = metadataAndTargets({ client, targets, clock, onError });
        const shared = { clusters, targets: source.store, patience, clock, concurrency, onError };
        const kinds = kindsSource(strategies.store);
        const ofServices = serviceController({ ...shared, kinds });
        const controllers = [ofServices.controller, ingressController(shared)];
        const custom = { client, clock, onError, strategies, services: ofServices };
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
