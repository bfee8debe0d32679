/**
 * The resource quota controller: keeps the status of quotas up to date. Admission charges created
 * objects; this controller sets the limits in force, counts again when objects are deleted, and
 * corrects the usage after a crash.
 *
 * One watch for the quotas of all logical clusters, and one for each resource that a quota counts:
 * namespaces without quotas cost only the skipped events.
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
  /** The server's client, not that of one cluster. */
  readonly client: Client;
  readonly clusters: Clusters;
  readonly clock?: Clock;
  readonly recountMs?: number;
  /** Called with the failure of a watch, which is retried. */
  readonly onWatchError: (error: unknown) => void;
  /** A watch has ended for good: the controller must be restarted. */
  readonly onWatchFailure: (error: unknown) => void;
}

/** Concurrently reconciled quotas. */
const concurrency = 4;
/** Every quota is counted again at this interval, whether or not events of its objects arrived. */
const recountDefaultMs = 300_000;

/** The kept state of a quota. */
type Wanted = string;

export interface ResourceQuotaController {
  readonly controller: Controller;
  /** Ends the watches, when the controller has ended. */
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

/**
 * The fields besides objects on which the status depends; the usage changes with every creation,
 * and is not one of them.
 */
function wantedOf({ spec, metadata, status }: ResourceQuota): Wanted {
  const sorted = (map: StringMap | undefined) => Object.entries(map ?? {}).sort();
  return JSON.stringify([
    sorted(spec?.hard),
    sorted(status?.hard),
    spec?.scopes,
    spec?.scopeSelector,
    metadata.annotations?.["experimental.quota.kcp.io/cluster-scoped"],
  ]);
}
