/**
 * Workspace snapshots without servers, and their state after decisions are carried out immediately.
 */
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import type { SyncTarget, SyncTargetSpec, SyncTargetStatus } from "../../api/index.ts";
import { deploymentStrategy, isSameDecision, type Workload } from "../../coordination/index.ts";
import {
  decideEach,
  type EvaluationTime,
  type SnapshotWorkload,
  type WorkspaceSnapshot,
  withRecord,
} from "../workspace-snapshot.ts";

export const evaluationTime: EvaluationTime = {
  gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
  nowMs: Date.UTC(2026, 0, 1),
};

export function target(
  name: string,
  more: {
    readonly labels?: Record<string, string>;
    readonly spec?: SyncTargetSpec;
    readonly status?: SyncTargetStatus;
  } = {},
): SyncTarget {
  const lastTransitionTime = "2025-01-01T00:00:00Z";
  const ready = { type: "Ready", status: "True", reason: "ClusterReady", message: "" } as const;
  return {
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name, labels: more.labels ?? {} },
    spec: more.spec ?? {},
    status: { conditions: [{ ...ready, lastTransitionTime }], ...more.status },
  };
}

export function deployment(
  name: string,
  replicas: number,
  more: {
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
    readonly cpu?: string;
    readonly tolerations?: readonly object[];
  } = {},
): SnapshotWorkload {
  const { labels = {}, annotations = {}, cpu, tolerations } = more;
  const resources = cpu === undefined ? {} : { resources: { requests: { cpu } } };
  const pod = { containers: [{ name: "web", ...resources }], ...(tolerations && { tolerations }) };
  const metadata = { name, namespace: "demo", uid: name, generation: 1, labels, annotations };
  const workload = { apiVersion: "apps/v1", kind: "Deployment", metadata };
  const spec = { replicas, template: { spec: pod } } as never;
  return { strategy: deploymentStrategy, workload: { ...workload, spec }, copies: [] };
}

export function snapshot(more: Partial<WorkspaceSnapshot>): WorkspaceSnapshot {
  const namespaces = new Map([["demo", {}]]);
  const none = { targets: [], locations: [], placements: [], workloads: [], global: undefined };
  return { cluster: rootCluster as ClusterName, ...none, namespaces, ...more };
}

/** The assignment of every workload to clusters. */
export type Assignment = ReadonlyMap<string, Readonly<Record<string, number>>>;

export function assignmentOf({ workloads }: WorkspaceSnapshot): Assignment {
  return new Map(
    workloads.map(({ workload, copies, strategy }) => [
      workload.metadata.name,
      Object.fromEntries(
        copies
          .map((copy) => [clusterOf(copy), strategy.shareOf(copy).replicas] as const)
          .filter(([, share]) => share > 0)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
    ]),
  );
}

/** The snapshot after one reconcile: decisions are carried out, and all Pods run. */
export function reconciledOnce(before: WorkspaceSnapshot): {
  readonly snapshot: WorkspaceSnapshot;
  readonly writes: number;
} {
  const decisions = new Map(decideEach(before, evaluationTime));
  let writes = 0;
  const workloads = before.workloads.map((workload) => {
    const decision = decisions.get(workload);
    if (decision === undefined) return workload;
    const { creations, updates, scaleDowns, removals } = decision;
    writes += creations.length + updates.length + scaleDowns.length + removals.length;
    const gone = new Set(removals.map(({ metadata }) => metadata.name));
    const changed = new Map([...updates, ...scaleDowns].map((copy) => [copy.metadata.name, copy]));
    const kept = workload.copies
      .filter(({ metadata }) => !gone.has(metadata.name))
      .map((copy) => changed.get(copy.metadata.name) ?? copy);
    const made = creations.map((copy) => copy as unknown as Workload);
    if (!isSameDecision(workload.placement?.status, decision.record)) writes++;
    const recorded = withRecord(workload, decision.record);
    return { ...recorded, copies: [...kept, ...made].map(running) };
  });
  return { snapshot: { ...before, workloads }, writes };
}

/**
 * Reconciles until nothing is left to do. A move takes several looks: its record, then its copies.
 */
export function reconciledUntilStable(
  before: WorkspaceSnapshot,
  looksMax = 100,
): WorkspaceSnapshot {
  let now = before;
  for (let looks = 0; looks < looksMax; looks++) {
    const { snapshot: next, writes } = reconciledOnce(now);
    now = next;
    if (writes === 0) return now;
  }
  throw new Error(`no rest after ${looksMax} looks`);
}

/** Replicas that are in another cluster than before. */
export function movedReplicas(before: Assignment, after: Assignment): number {
  let sum = 0;
  for (const [name, shares] of after) {
    for (const [cluster, share] of Object.entries(shares))
      sum += Math.max(0, share - (before.get(name)?.[cluster] ?? 0));
  }
  return sum;
}

function running(copy: Workload): Workload {
  const { replicas } = deploymentStrategy.shareOf(copy);
  const { generation = 0 } = copy.metadata;
  const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas };
  return { ...copy, status: { observedGeneration: generation, ...counts } };
}

function clusterOf({ metadata }: Workload): string {
  return metadata.labels?.["workload.kcp.io/cluster"] ?? "";
}
