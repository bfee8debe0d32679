/**
 * The resource quota controller: keeps the status of quotas true. Admission charges what is created; this loop sets the limits in force,
 * counts when objects go, and puts right what a crash left behind.
 *
 * One watch for the quotas of all logical clusters, and one for each resource that some quota counts: namespaces without quotas cost nothing
 * but being passed over.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import {
  type Client,
  type Clusters,
  Controller,
  type ControllerOptions,
  type StringMap,
} from "@kcp-ts/sdk";
import { type ResourceQuota, resourceQuotas } from "../api/index.ts";
import { FollowedResources } from "./followed-resources.ts";
import { recount } from "./recount.ts";

export interface ResourceQuotaControllerOptions
  extends Pick<ControllerOptions, "metrics" | "onError"> {
  /** Of the server, not of one cluster of it. */
  readonly client: Client;
  readonly clusters: Clusters;
  readonly clock?: Clock;
  readonly recountMs?: number;
  /** A watch that failed is begun anew. */
  readonly onWatchError: (error: unknown) => void;
  /** A watch has ended for good: the controller is to be made anew. */
  readonly onWatchFailure: (error: unknown) => void;
}

/** Quotas at a time. */
const concurrency = 4;
/** Every quota is counted anew this often, whether or not anything was heard of its objects. */
const recountDefaultMs = 300_000;

/** What is remembered of a quota. */
type Wanted = string;

export interface ResourceQuotaController {
  readonly controller: Controller;
  /** Ends the watches; when the controller has ended. */
  close(): Promise<void>;
}

export function resourceQuotaController(
  options: ResourceQuotaControllerOptions,
): ResourceQuotaController {
  const { client, clusters, clock = systemClock, recountMs = recountDefaultMs } = options;
  const followed = new FollowedResources({
    client,
    clock,
    onChange: (quotas) => {
      for (const quota of quotas) controller.enqueue(quota);
    },
    onError: options.onWatchError,
    onFailure: options.onWatchFailure,
  });
  const controller = new Controller({
    name: "resource-quota",
    clusters,
    concurrency,
    clock,
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    ...(options.onError === undefined ? {} : { onError: options.onError }),
    async reconcile(key, { client: clusterClient, signal }) {
      await recount(key, { client: clusterClient, followed, clock, signal });
      return { requeueAfterMs: recountMs };
    },
  }).watch<ResourceQuota, Wanted>(resourceQuotas, {
    transform: wantedOf,
    predicate: (change) => change.type !== "updated" || change.object !== change.previous,
  });
  return { controller, close: () => followed.close() };
}

/** What the status depends on besides objects; usage changes with every creation, and is none of it. */
function wantedOf({ spec, metadata, status }: ResourceQuota): Wanted {
  const sorted = (map: StringMap | undefined) => Object.entries(map ?? {}).sort();
  return JSON.stringify([
    sorted(spec?.hard),
    sorted(status?.hard),
    metadata.annotations?.["experimental.quota.kcp.io/cluster-scoped"],
  ]);
}
