/**
 * Upsynced Pods of Unreachable clusters: their status dates from before the loss, so this
 * controller marks it as unknown. When the cluster is back, the controller removes the mark, and
 * the syncer writes the current status. Upsynced Pods whose SyncTarget is deleted are deleted, too:
 * no syncer owns them.
 *
 *     Ready ─── not Ready for unreachableAfterMs ──▶ Unreachable
 *       ▲                                              │
 *       └──────────────────── Ready ───────────────────┘
 *
 *     either state ─── no SyncTarget of that uid ──▶ Unregistered
 *
 * Pods are listed when the state of a SyncTarget changes, and once for each SyncTarget after a
 * start; otherwise they cost nothing. The Pods of all tenant workspaces are one additional list,
 * however many workspaces there are.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  clusterOf,
  findCondition,
  formatKey,
  isConditionTrue,
  type JsonPatchOperation,
  type ObjectKey,
  type ReconcileContext,
  type ReconcileResult,
  stringMember,
  timestamp,
} from "@kcp-ts/sdk";
import { type Pod, pods } from "@kcp-ts/sdk/kinds";
import {
  clusterUnreachableReason,
  isSharedTargetName,
  type SyncTarget,
  sharedTargetName,
  stateLabel,
  stateUpsync,
  syncerFieldManager,
  syncTargets,
  targetConditions,
  upsyncedFromAnnotation,
} from "../api/index.ts";
import {
  apiExports,
  computeExportInformer,
  computeExportName,
  consumersPath,
} from "../compute/index.ts";
import { parseCopyOf, releasePatch } from "../syncer/index.ts";

export interface UnreachablePodsOptions {
  /** The client of the control plane, not of one logical cluster. */
  readonly client: Client;
  readonly clusters: Clusters;
  /** How long a cluster may be not Ready before its Pods count as lost. */
  readonly unreachableAfterMs: number;
  readonly clock?: Clock | undefined;
  readonly onError?: ((error: unknown, key: ObjectKey) => void) | undefined;
}

export interface UnreachablePods {
  readonly controller: Controller;
}

type PodClusterState = "Ready" | "Unreachable" | "Unregistered";

const pageSize = 500;
const atOnce = 8;
const timeoutMs = 600_000;

export function unreachablePods(options: UnreachablePodsOptions): UnreachablePods {
  const { client: workload, clusters, unreachableAfterMs, clock = systemClock, onError } = options;
  /** The last state that was written to the Pods of a SyncTarget, with its uid. */
  const told = new Map<string, string>();
  const source = clusters.source(syncTargets);
  const offers = clusters.source(apiExports, computeExportInformer);
  const copiesOf = (key: ObjectKey, client: Client): readonly UpsyncedPods[] => {
    const { cluster, name } = key;
    const own = { client, target: name, clientOf: () => client };
    if (offers.store.get({ ...key, name: computeExportName }) === undefined) return [own];
    const consumers = workload.withBasePath(consumersPath(cluster)).inCluster("*");
    const clientOf = (pod: Pod) => {
      const at = clusterOf(pod);
      if (at === undefined) throw new Error(`${pod.metadata.name} does not say whose it is`);
      return workload.inCluster(at);
    };
    return [own, { client: consumers, target: sharedTargetName(key), clientOf }];
  };
  const reconcile = async (
    key: ObjectKey,
    { client, signal }: ReconcileContext,
  ): Promise<ReconcileResult> => {
    const target =
      source.store.get(key) ?? (await client.resource(syncTargets).find(key, { signal }));
    const waitMs =
      target === undefined ? 0 : unreachableInMs(target, unreachableAfterMs, clock.now());
    if (waitMs !== undefined && waitMs > 0) return { requeueAfterMs: waitMs };
    const clusterState =
      target === undefined ? "Unregistered" : waitMs === undefined ? "Ready" : "Unreachable";
    const state = `${clusterState} ${target?.metadata.uid ?? ""}`;
    const text = formatKey(key);
    if (told.get(text) === state) return undefined;
    const since = findCondition(target?.status?.conditions, targetConditions.ready);
    for (const copies of copiesOf(key, client)) {
      await eachCopy(copies, signal, (pod) => {
        const copy = parseCopyOf(stringMember(pod.metadata.annotations, upsyncedFromAnnotation));
        // An upsynced Pod of an earlier SyncTarget of this name has no owner.
        const isNobodys = target === undefined || copy?.target !== target.metadata.uid;
        const now: PodClusterState = isNobodys ? "Unregistered" : clusterState;
        return updateStatus(copies.clientOf(pod), pod, {
          ...{ target: copies.target, now, since: since?.lastTransitionTime, signal },
        });
      });
    }
    if (clusterState === "Unregistered") told.delete(text);
    else told.set(text, state);
    return undefined;
  };
  const controller = new Controller({
    name: "lost-copies",
    clusters,
    timeoutMs,
    reconcile,
    clock,
    ...(onError === undefined ? {} : { onError }),
  }).watch(syncTargets);
  return { controller };
}

/** Milliseconds until the cluster is Unreachable, 0 when it is, undefined while it is Ready. */
function unreachableInMs(
  { metadata, status }: SyncTarget,
  unreachableAfterMs: number,
  nowMs: number,
) {
  if (isConditionTrue(status?.conditions, targetConditions.ready)) return undefined;
  // The condition Ready is False for every SyncTarget that is being deleted, so the heartbeat
  // condition decides.
  const isDeleting = metadata.deletionTimestamp !== undefined;
  if (isDeleting && isConditionTrue(status?.conditions, targetConditions.heartbeatHealthy))
    return undefined;
  const ready = findCondition(status?.conditions, targetConditions.ready);
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? metadata.creationTimestamp ?? "");
  return Math.max(0, sinceMs + unreachableAfterMs - nowMs);
}

/** The upsynced Pods of one or many logical clusters, in which the SyncTarget has the same name. */
interface UpsyncedPods {
  readonly client: Client;
  readonly target: string;
  /** The client of a Pod's logical cluster. */
  readonly clientOf: (pod: Pod) => Client;
}

async function eachCopy(
  { client, target }: UpsyncedPods,
  signal: AbortSignal,
  visit: (pod: Pod) => Promise<void>,
): Promise<void> {
  const labelSelector = `${stateLabel(target)}=${stateUpsync}`;
  try {
    for await (const page of client.resource(pods).pages({ labelSelector, pageSize, signal })) {
      const waiting = [...page.items];
      const work = async () => {
        for (let pod = waiting.shift(); pod !== undefined; pod = waiting.shift()) await visit(pod);
      };
      await Promise.all(Array.from({ length: atOnce }, work));
    }
  } catch (error) {
    // A logical cluster that does not serve Pods has no upsynced Pods.
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

interface StatusUpdate {
  readonly target: string;
  readonly now: PodClusterState;
  readonly since: string | undefined;
  readonly signal: AbortSignal;
}

async function updateStatus(client: Client, pod: Pod, settling: StatusUpdate): Promise<void> {
  const { target, now, since, signal } = settling;
  const { name, namespace = "", uid = "" } = pod.metadata;
  const resource = client.resource(pods);
  const at = { namespace, name };
  const options = { fieldManager: syncerFieldManager, signal };
  const isMarked = pod.status?.reason === clusterUnreachableReason;
  try {
    if (now === "Unregistered") {
      const patch = releasePatch(pod.metadata, target);
      if (patch !== undefined) await resource.patch(at, { type: "merge", patch }, options);
      await resource.delete(at, { preconditions: { uid }, gracePeriodSeconds: 0, signal });
      return;
    }
    if (isMarked === (now === "Unreachable")) return;
    const operations: JsonPatchOperation[] = [
      { op: "test", path: "/metadata/uid", value: uid },
      ...(isMarked
        ? (["reason", "message"] as const).map((field) => removal(field))
        : [{ op: "add", path: "/status", value: unreachableStatus(pod, target, since) } as const]),
    ];
    await resource.patchStatus(at, { type: "json", operations }, options);
  } catch (error) {
    // The Pod is deleted, or another writer was faster, which has newer data.
    if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
  }
}

function removal(field: "reason" | "message"): JsonPatchOperation {
  return { op: "remove", path: `/status/${field}` };
}

function unreachableStatus(pod: Pod, target: string, since: string | undefined): JsonValue {
  const status = pod.status ?? {};
  const from = since === undefined ? "" : ` since ${timestamp(Date.parse(since))}`;
  const next = isSharedTargetName(target)
    ? "ask who offers it"
    : `see kubectl describe synctarget ${target}`;
  return {
    ...status,
    phase: "Unknown",
    reason: clusterUnreachableReason,
    message: `${target} cannot be seen${from}: ${next}`,
    conditions: (status.conditions ?? []).map((one) =>
      one.type === "Ready" || one.type === "ContainersReady"
        ? { ...one, status: "Unknown", reason: clusterUnreachableReason }
        : { ...one },
    ),
  } as unknown as JsonValue;
}
