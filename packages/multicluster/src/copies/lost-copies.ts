/**
 * Copies of Pods whose cluster is lost: what they say is from before the loss, and is not left standing as if it were true. When the cluster is
 * back, the mark is taken off, and the syncer writes what it sees. Copies whose SyncTarget is gone go, too: nobody else holds them.
 *
 *     well ──── not Ready for graceMs ───▶ lost        either ──── no SyncTarget of that uid ───▶ gone
 *      ▲                                    │
 *      └────────────── Ready ───────────────┘
 *
 * Pods are listed when a SyncTarget goes from one to another, and once for each after a start; else they cost nothing. Those of all workspaces that use the clusters of
 * this one are one list more, however many they are.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  clusterOf,
  defineResource,
  findCondition,
  formatKey,
  isConditionTrue,
  type JsonPatchOperation,
  type KubernetesObject,
  type ObjectKey,
  type ReconcileContext,
  type ReconcileResult,
  stringMember,
  timestamp,
} from "@kcp-ts/sdk";
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
  /** Of the control plane, not of one cluster of it. */
  readonly client: Client;
  readonly clusters: Clusters;
  /** So long a cluster may be not Ready before its Pods are called lost. */
  readonly graceMs: number;
  readonly clock?: Clock | undefined;
  readonly onError?: ((error: unknown, key: ObjectKey) => void) | undefined;
}

export interface UnreachablePods {
  readonly controller: Controller;
}

interface Pod extends KubernetesObject {
  readonly status?: PodStatus;
}

interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

const pods = defineResource<Pod>({
  group: "",
  version: "v1",
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});

type PodClusterState = "well" | "lost" | "gone";

const pageSize = 500;
const atOnce = 8;
const timeoutMs = 600_000;

export function unreachablePods(options: UnreachablePodsOptions): UnreachablePods {
  const { client: whole, clusters, graceMs, clock = systemClock, onError } = options;
  /** What the copies of a SyncTarget were last told, with its uid. */
  const told = new Map<string, string>();
  const source = clusters.source(syncTargets);
  const offers = clusters.source(apiExports, computeExportInformer);
  const copiesOf = (key: ObjectKey, client: Client): readonly UpsyncedPods[] => {
    const { cluster, name } = key;
    const own = { client, target: name, home: () => client };
    if (offers.store.get({ ...key, name: computeExportName }) === undefined) return [own];
    const consumers = whole.withBasePath(consumersPath(cluster)).inCluster("*");
    const home = (pod: Pod) => {
      const at = clusterOf(pod);
      if (at === undefined) throw new Error(`${pod.metadata.name} does not say whose it is`);
      return whole.inCluster(at);
    };
    return [own, { client: consumers, target: sharedTargetName(key), home }];
  };
  const reconcile = async (
    key: ObjectKey,
    { client, signal }: ReconcileContext,
  ): Promise<ReconcileResult> => {
    const target =
      source.store.get(key) ?? (await client.resource(syncTargets).find(key, { signal }));
    const waitMs = target === undefined ? 0 : unreachableInMs(target, graceMs, clock.now());
    if (waitMs !== undefined && waitMs > 0) return { requeueAfterMs: waitMs };
    const standing = target === undefined ? "gone" : waitMs === undefined ? "well" : "lost";
    const state = `${standing} ${target?.metadata.uid ?? ""}`;
    const text = formatKey(key);
    if (told.get(text) === state) return undefined;
    const since = findCondition(target?.status?.conditions, targetConditions.ready);
    for (const copies of copiesOf(key, client)) {
      await eachCopy(copies, signal, (pod) => {
        const copy = parseCopyOf(stringMember(pod.metadata.annotations, upsyncedFromAnnotation));
        // A copy of an earlier SyncTarget of this name is nobody's.
        const isNobodys = target === undefined || copy?.target !== target.metadata.uid;
        const now: PodClusterState = isNobodys ? "gone" : standing;
        return updateStatus(copies.home(pod), pod, {
          ...{ target: copies.target, now, since: since?.lastTransitionTime, signal },
        });
      });
    }
    if (standing === "gone") told.delete(text);
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

/** Milliseconds until the cluster counts as lost, 0 when it does, undefined while it is Ready. */
function unreachableInMs({ metadata, status }: SyncTarget, graceMs: number, nowMs: number) {
  if (isConditionTrue(status?.conditions, targetConditions.ready)) return undefined;
  // One that is being deleted is called not Ready for that alone.
  const isDeleting = metadata.deletionTimestamp !== undefined;
  if (isDeleting && isConditionTrue(status?.conditions, targetConditions.heartbeatHealthy))
    return undefined;
  const ready = findCondition(status?.conditions, targetConditions.ready);
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? metadata.creationTimestamp ?? "");
  return Math.max(0, sinceMs + graceMs - nowMs);
}

/** Of one cluster or of many, which call the SyncTarget the same. */
interface UpsyncedPods {
  readonly client: Client;
  readonly target: string;
  /** The logical cluster that a copy is in. */
  readonly home: (pod: Pod) => Client;
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
    // Where Pods are not served there are no copies.
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
    if (now === "gone") {
      const patch = releasePatch(pod.metadata, target);
      if (patch !== undefined) await resource.patch(at, { type: "merge", patch }, options);
      await resource.delete(at, { preconditions: { uid }, gracePeriodSeconds: 0, signal });
      return;
    }
    if (isMarked === (now === "lost")) return;
    const operations: JsonPatchOperation[] = [
      { op: "test", path: "/metadata/uid", value: uid },
      ...(isMarked
        ? (["reason", "message"] as const).map((field) => removal(field))
        : [{ op: "add", path: "/status", value: unreachableStatus(pod, target, since) } as const]),
    ];
    await resource.patchStatus(at, { type: "json", operations }, options);
  } catch (error) {
    // Gone, or somebody was faster; who is faster knows more.
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
