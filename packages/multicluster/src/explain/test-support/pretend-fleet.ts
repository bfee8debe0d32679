/** Fleets without servers, and what becomes of them when decisions are done at once. */
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import type { SyncTarget, SyncTargetSpec, SyncTargetStatus } from "../../api/index.ts";
import { deploymentStrategy, type Workload } from "../../coordination/index.ts";
import {
  decideEach,
  type EvaluationTime,
  type SnapshotWorkload,
  type WorkspaceSnapshot,
} from "../fleet.ts";

export const evaluationTime: EvaluationTime = {
  patience: { graceMs: 60_000, settleMs: 0 },
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
  const whole = { apiVersion: "apps/v1", kind: "Deployment", metadata };
  const spec = { replicas, template: { spec: pod } } as never;
  return { strategy: deploymentStrategy, whole: { ...whole, spec }, parts: [] };
}

export function snapshot(more: Partial<WorkspaceSnapshot>): WorkspaceSnapshot {
  const namespaces = new Map([["demo", {}]]);
  const none = { targets: [], locations: [], placements: [], workloads: [], global: undefined };
  return { cluster: rootCluster as ClusterName, ...none, namespaces, ...more };
}

/** Where everything is, by workload. */
export type Assignment = ReadonlyMap<string, Readonly<Record<string, number>>>;

export function assignmentOf({ workloads }: WorkspaceSnapshot): Assignment {
  return new Map(
    workloads.map(({ whole, parts, strategy }) => [
      whole.metadata.name,
      Object.fromEntries(
        parts
          .map((part) => [clusterOf(part), strategy.shareOf(part).replicas] as const)
          .filter(([, share]) => share > 0)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
    ]),
  );
}

/** What is decided is done, and everything runs: as far as one look goes. */
export function reconciledOnce(before: WorkspaceSnapshot): {
  readonly fleet: WorkspaceSnapshot;
  readonly writes: number;
} {
  const decisions = new Map(decideEach(before, evaluationTime));
  let writes = 0;
  const workloads = before.workloads.map((workload) => {
    const decision = decisions.get(workload);
    if (decision === undefined) return workload;
    const { creations, updates, cuts, removals } = decision;
    writes += creations.length + updates.length + cuts.length + removals.length;
    const gone = new Set(removals.map(({ metadata }) => metadata.name));
    const changed = new Map([...updates, ...cuts].map((part) => [part.metadata.name, part]));
    const kept = workload.parts
      .filter(({ metadata }) => !gone.has(metadata.name))
      .map((part) => changed.get(part.metadata.name) ?? part);
    const made = creations.map((part) => part as unknown as Workload);
    return { ...workload, parts: [...kept, ...made].map(running) };
  });
  return { fleet: { ...before, workloads }, writes };
}

/** Look after look, until nothing is left to do. */
export function reconciledUntilStable(before: WorkspaceSnapshot, looksMax = 20): WorkspaceSnapshot {
  let now = before;
  for (let looks = 0; looks < looksMax; looks++) {
    const { fleet: next, writes } = reconciledOnce(now);
    now = next;
    if (writes === 0) return now;
  }
  throw new Error(`no rest after ${looksMax} looks`);
}

/** Replicas that are somewhere else than before. */
export function movedReplicas(before: Assignment, after: Assignment): number {
  let sum = 0;
  for (const [name, shares] of after) {
    for (const [cluster, share] of Object.entries(shares))
      sum += Math.max(0, share - (before.get(name)?.[cluster] ?? 0));
  }
  return sum;
}

function running(part: Workload): Workload {
  const { replicas } = deploymentStrategy.shareOf(part);
  const { generation = 0 } = part.metadata;
  const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas };
  return { ...part, status: { observedGeneration: generation, ...counts } };
}

function clusterOf({ metadata }: Workload): string {
  return metadata.labels?.["workloads.kcp.io/cluster"] ?? "";
}
