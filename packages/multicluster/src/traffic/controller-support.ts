/** Helpers that the traffic controllers share. */
import type { Clock } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import type {
  Client,
  Clusters,
  KubernetesObject,
  ObjectKey,
  ObjectStore,
  ReconcileResult,
  Resource,
} from "@kcp-ts/sdk";
import type { ClusterInfo } from "../coordination/index.ts";
import type { TrafficGracePeriods } from "./endpoint-visibility.ts";

export interface TrafficControllerOptions {
  readonly clusters: Clusters;
  readonly targets: ObjectStore<ClusterInfo>;
  readonly gracePeriods: TrafficGracePeriods;
  readonly clock: Clock;
  /** The number of objects of a kind that are reconciled concurrently. */
  readonly concurrency: number;
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

/** The minimal requeue interval: a small clock skew must not cause a busy loop. */
const wakeMsMin = 100;

export function requeueAfter(wakeAtMs: number | undefined, nowMs: number): ReconcileResult {
  if (wakeAtMs === undefined) return undefined;
  return { requeueAfterMs: Math.max(wakeMsMin, wakeAtMs - nowMs) };
}

/** Deletes the object of this uid; an object that is already deleted is no error. */
export async function deleteByUid<Object extends KubernetesObject>(
  client: Client,
  resource: Resource<Object>,
  object: Object,
  signal: AbortSignal,
): Promise<void> {
  if (object.metadata.deletionTimestamp !== undefined) return;
  try {
    await client.resource(resource).sameObject(object).remove({ signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

/** Whether an update of a SyncTarget changes nothing that traffic depends on. */
export function isSameTarget(a: ClusterInfo, b: ClusterInfo): boolean {
  const { isReady, changedAtMs } = b;
  return a.isReady === isReady && a.changedAtMs === changedAtMs;
}

export function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a as JsonValue, b as JsonValue);
}
