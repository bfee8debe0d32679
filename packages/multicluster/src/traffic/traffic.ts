/** The traffic controllers as one thing that runs, over any client that may do everything in every logical cluster. */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { type Client, type Clusters, logicalClusters, Manager, type ObjectKey } from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets } from "../api/index.ts";
import { metadataAndTargets, type Target, targetOf } from "../coordination/index.ts";
import { serviceController } from "./service-controller.ts";
import { type SightPatience, sightPatienceDefault } from "./sight.ts";

export interface TrafficOptions extends Partial<SightPatience> {
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
  const whole = options.targets ?? logicalClusters({ client, clock, onError });
  const clusters = metadataAndTargets({ client, targets: whole, clock, onError });
  const targets = clusters.source<SyncTarget, Target>(syncTargets, { transform: targetOf }).store;
  const { withdrawMs, returnMs } = { ...sightPatienceDefault, ...options };
  const patience = { withdrawMs, returnMs };
  const work = { clusters, targets, patience, clock, concurrency, onError };
  const controllers = [serviceController(work)];
  return { run: (signal) => new Manager({ clusters: [whole, clusters], controllers }).run(signal) };
}
