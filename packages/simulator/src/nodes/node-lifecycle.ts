/**
 * The node lifecycle controller: silent nodes become NotReady and tainted, and their Pods are
 * evicted when their tolerations expire.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  type Indexers,
  type ObjectKey,
  type ReconcileResult,
  timestamp,
} from "@kcp-ts/sdk";
import {
  type Condition,
  isTerminating,
  leases,
  type Node,
  nodes,
  type Pod,
  pods,
  type Taint,
  writeStatus,
} from "../api/index.ts";
import { leaseNamespace } from "./heartbeats.ts";
import { isTolerated } from "./node-fit.ts";
import { nodeConditions } from "./node-objects.ts";

export interface LifecycleOptions {
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}

/** How long a node may be silent before it is NotReady. */
export const nodeMonitorGracePeriodMs = 40_000;
const unreachable = "node.kubernetes.io/unreachable";

const byNode = {
  node: { values: ({ spec }: Pod) => (spec.nodeName ? [spec.nodeName] : []) },
} as const satisfies Indexers<Pod>;

export function nodeLifecycleController({
  clusters,
  clock,
  onError,
}: LifecycleOptions): Controller {
  const found = clusters.source(nodes);
  const signs = clusters.source(leases);
  const running = clusters.source<Pod>(pods, { indexers: byNode });

  async function reconcile(key: ObjectKey, client: Client): Promise<ReconcileResult> {
    const node = found.store.get(key);
    const lease = signs.store.get({ ...key, namespace: leaseNamespace });
    if (node === undefined || lease?.spec?.renewTime === undefined) return undefined;
    const nowMs = clock.now();
    const leftMs = Date.parse(lease.spec.renewTime) + nodeMonitorGracePeriodMs - nowMs;
    if (leftMs > 0) {
      await markReachable(node, client, nowMs);
      return { requeueAfterMs: leftMs };
    }
    await markUnreachable(node, client, nowMs);
    const bound = running.store.byIndex("node", {
      cluster: key.cluster,
      value: node.metadata.name,
    });
    return evictPods(node, bound, client, nowMs);
  }

  return new Controller({
    name: "node-lifecycle",
    clusters,
    clock,
    onError,
    reconcile: (key, { client }) => reconcile(key, client),
  })
    .watch(nodes)
    .watch(leases, {
      predicate: ({ key }) => key.namespace === leaseNamespace,
      map: (_lease, key) => [{ ...key, namespace: "" }],
    });
}

async function markUnreachable(node: Node, client: Client, nowMs: number): Promise<void> {
  const conditions = node.status?.conditions ?? [];
  const isKnown = conditions.some(({ type, status }) => type === "Ready" && status === "Unknown");
  if (!isKnown) {
    const now = timestamp(nowMs);
    const lost = conditions.map(
      (one): Condition => ({
        ...one,
        status: "Unknown",
        lastTransitionTime: now,
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
      }),
    );
    await writeStatus(client, nodes, node, { ...node.status, conditions: lost });
    return;
  }
  const taints = node.spec?.taints ?? [];
  if (taints.some(({ key }) => key === unreachable)) return;
  const timeAdded = timestamp(nowMs);
  const added: Taint[] = [
    { key: unreachable, effect: "NoSchedule", timeAdded },
    { key: unreachable, effect: "NoExecute", timeAdded },
  ];
  await client
    .resource(nodes)
    .update({ ...node, spec: { ...node.spec, taints: [...taints, ...added] } });
}

async function markReachable(node: Node, client: Client, nowMs: number): Promise<void> {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") {
    await writeStatus(client, nodes, node, { ...node.status, conditions: nodeConditions(nowMs) });
    return;
  }
  const taints = node.spec?.taints ?? [];
  const kept = taints.filter(({ key }) => key !== unreachable);
  if (kept.length === taints.length) return;
  await client.resource(nodes).update({ ...node, spec: { ...node.spec, taints: kept } });
}

/**
 * Evicts Pods whose toleration has expired. No kubelet stops them: they stay Terminating until the
 * node is up again.
 */
async function evictPods(
  node: Node,
  bound: readonly Pod[],
  client: Client,
  nowMs: number,
): Promise<ReconcileResult> {
  const taint = node.spec?.taints?.find(
    ({ key, effect }) => key === unreachable && effect === "NoExecute",
  );
  if (taint === undefined) return { requeueAfterMs: 100 };
  const sinceMs = Date.parse(taint.timeAdded ?? timestamp(nowMs));
  let nextMs = Number.POSITIVE_INFINITY;
  for (const pod of bound.filter((one) => !isTerminating(one))) {
    const toleration = pod.spec.tolerations?.find((one) => isTolerated(one, taint));
    const { tolerationSeconds } = toleration ?? { tolerationSeconds: 0 };
    if (tolerationSeconds === undefined) continue;
    const leftMs = sinceMs + tolerationSeconds * 1000 - nowMs;
    if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
    else await remove(pod, client);
  }
  return Number.isFinite(nextMs) ? { requeueAfterMs: nextMs } : undefined;
}

async function remove({ metadata }: Pod, client: Client): Promise<void> {
  const { name, namespace = "", uid = "" } = metadata;
  await client
    .resource(pods)
    .delete({ name, namespace }, { preconditions: { uid } })
    .catch((error: unknown) => {
      if (!isStatusError(error, "NotFound")) throw error;
    });
}
