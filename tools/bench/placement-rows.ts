/**
 * Placement: how long it takes to decide where many workloads go, by the functions that
 * coordinators decide with, and how much moves when a cluster joins.
 *
 * Nothing is written and nothing runs: it is the arithmetic alone, in this process. Every workload
 * has requests, regions are spread over, every tenth cluster has a taint, and what one workload
 * takes the next one cannot have.
 */
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  decideEach,
  deploymentStrategy,
  type Placement,
  planChange,
  type SnapshotWorkload,
  type SyncTarget,
  syncTargetResource,
  type WorkspaceSnapshot,
  withJoinedTarget,
} from "@kcp-ts/multicluster";
import type { Bench } from "./contest.ts";
import { against } from "./report.ts";

const region = "topology.kubernetes.io/region";
const regions = 5;
const moment = {
  gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
  nowMs: Date.UTC(2026, 0, 1),
};
/** More than clusters, so that a newcomer has a share of each. */
const replicasEach = 500;

export function placementRows({ options, report }: Bench): void {
  const { placedWorkloads: workloads, placementClusters: clusters, warmUps } = options.sizes;
  const over = `${workloads} Deployments over ${clusters} clusters`;
  const constrained = snapshotOf(workloads, clusters, { isConstrained: true });
  for (let round = 0; round < warmUps; round++) millisecondsOf(constrained);
  report.add({
    work: `placing ${over}`,
    server: "kcp",
    unit: "ms",
    figure: millisecondsOf(constrained),
    wanted: { what: "figure", atMost: 1000 },
  });
  const rest = running(constrained);
  for (let round = 0; round < warmUps; round++) millisecondsOf(rest);
  const work = `looking again at ${over}`;
  report.add({ work, server: "kcp", unit: "ms", figure: millisecondsOf(rest) });

  const even = running(snapshotOf(workloads, clusters, { isConstrained: false }));
  const newcomer = target(clusters, false);
  const { replicas } = planChange(even, withJoinedTarget(newcomer, moment.nowMs), moment);
  const least = workloads * Math.floor(replicasEach / (clusters + 1));
  report.add({
    work: `a cluster joins ${clusters} with ${workloads} Deployments`,
    server: "kcp",
    figure: replicas,
    unit: "replicas",
    against: against("what has to move", replicas, least),
    wanted: { what: "ratio", atMost: 1.1 },
  });
}

/** Processor time: others work on the machine, too. */
function millisecondsOf(workspaceSnapshot: WorkspaceSnapshot): number {
  const before = process.cpuUsage();
  let placed = 0;
  for (const [, { plan }] of decideEach(workspaceSnapshot, moment)) placed += plan.goal.size;
  const { user, system } = process.cpuUsage(before);
  if (placed === 0) throw new Error("nothing was placed");
  return (user + system) / 1000;
}

function snapshotOf(
  workloads: number,
  clusters: number,
  { isConstrained }: { readonly isConstrained: boolean },
): WorkspaceSnapshot {
  const placement: Placement = {
    apiVersion: "scheduling.kcp.io/v1alpha1",
    kind: "Placement",
    metadata: { name: "all" },
    spec: {
      locationResource: syncTargetResource,
      namespaceSelector: {},
      spread: [{ topologyKey: region }],
    },
  };
  return {
    cluster: rootCluster,
    targets: Array.from({ length: clusters }, (_, index) => target(index, isConstrained)),
    locations: [],
    placements: isConstrained ? [placement] : [],
    global: undefined,
    namespaces: new Map([["default", {}]]),
    workloads: Array.from({ length: workloads }, (_, index) => deployment(index, isConstrained)),
  };
}

function target(index: number, isConstrained: boolean): SyncTarget {
  const lastTransitionTime = "2025-01-01T00:00:00Z";
  const ready = { type: "Ready", status: "True", reason: "ClusterReady", message: "" } as const;
  const taints = [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }] as const;
  return {
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name: `cluster-${index}`, labels: { [region]: `region-${index % regions}` } },
    spec: isConstrained && index % 10 === 0 ? { taints } : {},
    status: {
      conditions: [{ ...ready, lastTransitionTime }],
      syncedResources: ["deployments.apps"],
      ...(isConstrained ? { allocatable: { cpu: "64", memory: "256Gi", pods: "1100" } } : {}),
    },
  };
}

function deployment(index: number, isConstrained: boolean): SnapshotWorkload {
  const name = `app-${index}`;
  const metadata = { name, namespace: "default", uid: name, generation: 1, labels: { app: name } };
  const requests = { cpu: `${50 + (index % 4) * 50}m`, memory: "64Mi" };
  const containers = [{ name: "web", image: "nginx", resources: { requests } }];
  const replicas = isConstrained ? 1 + (index % 60) : replicasEach;
  const spec = { replicas, template: { metadata: {}, spec: { containers } } };
  const workload = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec };
  return { strategy: deploymentStrategy, workload, copies: [] };
}

/** As it is when everything that was decided runs. */
function running(workspaceSnapshot: WorkspaceSnapshot): WorkspaceSnapshot {
  const decisions = new Map(decideEach(workspaceSnapshot, moment));
  const workloads = workspaceSnapshot.workloads.map((workload) => {
    const made = decisions.get(workload)?.creations ?? [];
    const copies = made.map((part) => {
      const replicas = (part.spec as { replicas: number }).replicas;
      const status = { observedGeneration: 1, replicas, availableReplicas: replicas };
      const metadata = { ...part.metadata, name: part.metadata.name ?? "", generation: 1 };
      return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: part.spec, status };
    });
    return { ...workload, copies };
  });
  return { ...workspaceSnapshot, workloads };
}
