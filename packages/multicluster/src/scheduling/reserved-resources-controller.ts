/**
 * Writes the reserved resources of each cluster to the status of its SyncTarget: for users, not for
 * decisions, so once a second is enough.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  formatKey,
  type ObjectKey,
  type ObjectStore,
  type ReconcileResult,
} from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets, writeSyncTargetStatus } from "../api/index.ts";
import { formatResourceAmounts } from "./resource-amounts.ts";
import type { Scheduler } from "./scheduler.ts";

export interface ReservedResourcesControllerOptions {
  readonly clusters: Clusters;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}

const pauseMs = 1000;

export class ReservedResourcesController {
  readonly controller: Controller;
  readonly #scheduler: Scheduler;
  readonly #clock: Clock;
  readonly #targets: ObjectStore<SyncTarget>;
  readonly #saidAtMs = new Map<string, number>();

  constructor({ clusters, scheduler, clock, onError }: ReservedResourcesControllerOptions) {
    this.#scheduler = scheduler;
    this.#clock = clock;
    this.#targets = clusters.source<SyncTarget>(syncTargets).store;
    this.controller = new Controller({
      name: "reservations",
      clusters,
      clock,
      onError,
      reconcile: (key, { client, signal }) => this.#reconcile(key, client, signal),
    }).watch<SyncTarget>(syncTargets, {
      // The reservation cache reports changes of reservations; this handler only tracks which
      // SyncTargets exist.
      predicate: ({ type }) => type !== "updated",
    });
    scheduler.subscribeReserved((place) => {
      const [cluster = "", name = ""] = place.split("|");
      this.controller.enqueue({ cluster: cluster as ClusterName, namespace: "", name });
    });
  }

  async #reconcile(key: ObjectKey, client: Client, signal: AbortSignal): Promise<ReconcileResult> {
    const target = this.#targets.get(key);
    const id = formatKey(key);
    if (target === undefined) {
      this.#saidAtMs.delete(id);
      return;
    }
    const reserved = formatResourceAmounts(
      this.#scheduler.reservations.reserved(key.cluster, key.name),
    );
    if (jsonEqual((target.status?.reserved ?? {}) as JsonValue, reserved as JsonValue)) return;
    const nowMs = this.#clock.monotonic();
    const waitMs = (this.#saidAtMs.get(id) ?? Number.NEGATIVE_INFINITY) + pauseMs - nowMs;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    this.#saidAtMs.set(id, nowMs);
    try {
      await writeSyncTargetStatus({ client, target, signal }, "scheduler", { reserved });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}
