/**
 * The moves of tenants of a compute workspace's clusters. The owner of the clusters gets as much as
 * a drain reports: kinds, names and numbers, not the tenants.
 */
import { runYielding } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";
import { isSharedTargetName, sharedTargetName } from "../api/index.ts";
import {
  type ComputeWorkspace,
  readComputeWorkspace,
  readComputeWorkspaces,
  readTenants,
  withComputeWorkspaces,
} from "./compute-workspaces.ts";
import { type PlannedMove, planChangeInSteps } from "./plan-change.ts";
import { readSnapshot } from "./read-snapshot.ts";
import type { EvaluationTime, WorkspaceSnapshot } from "./workspace-snapshot.ts";

export interface TenantsPlan {
  readonly moves: readonly PlannedMove[];
  readonly replicas: number;
  readonly staying: number;
  /** Tenant workspaces beyond the reviewed ones. */
  readonly unseenWorkspaces: number;
}

export interface PlanTenantsOptions {
  /** The client of the server; it may read every workspace. */
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** Workspaces are reviewed one after the other, so that one snapshot is in memory at a time. */
export const reviewedWorkspacesMax = 500;

/** The name for a cluster that does not belong to the compute workspace. */
const tenantPrefix = "tenant";

export async function planTenants(
  before: WorkspaceSnapshot,
  after: WorkspaceSnapshot,
  evaluationTime: EvaluationTime,
  { client, signal }: PlanTenantsOptions,
): Promise<TenantsPlan> {
  const found = await readComputeWorkspace(client, before.cluster, [], { signal });
  if (found === undefined) return { moves: [], replicas: 0, staying: 0, unseenWorkspaces: 0 };
  const changed: ComputeWorkspace = {
    ...found,
    targets: after.targets.filter(isOwn),
    locations: after.locations,
  };
  const tenants = await readTenants(client, before.cluster, { signal });
  const moves: PlannedMove[] = [];
  let [replicas, staying] = [0, 0];
  for (const cluster of tenants.slice(0, reviewedWorkspacesMax)) {
    const [own, computeWorkspaces] = await Promise.all([
      readSnapshot({ client: client.inCluster(cluster), cluster, signal }),
      readComputeWorkspaces(client, cluster, { signal }),
    ]);
    const clusterSet = { ...own, global: before.global };
    const then = computeWorkspaces.map((computeWorkspace) =>
      computeWorkspace.cluster === found.cluster
        ? { ...changed, paths: computeWorkspace.paths }
        : computeWorkspace,
    );
    const now = withComputeWorkspaces(clusterSet, computeWorkspaces);
    const plan = await runYielding(
      planChangeInSteps(now, () => withComputeWorkspaces(clusterSet, then), evaluationTime),
    );
    replicas += plan.replicas;
    staying += plan.unchanged;
    moves.push(...plan.moves.map((move) => describeTenantMove(move, changed)));
  }
  const unseenWorkspaces = Math.max(0, tenants.length - reviewedWorkspacesMax);
  return { moves, replicas, staying, unseenWorkspaces };
}

function isOwn({ metadata }: WorkspaceSnapshot["targets"][number]): boolean {
  return !isSharedTargetName(metadata.name);
}

/**
 * The move with the compute workspace's names of its clusters. The reasons for unscheduled replicas
 * or rejected claims are visible to their owner only.
 */
function describeTenantMove(
  move: PlannedMove,
  { cluster, targets }: ComputeWorkspace,
): PlannedMove {
  const names = new Map(
    targets.map(({ metadata: { name } }) => [sharedTargetName({ cluster, name }), name]),
  );
  const shares = (all: PlannedMove["from"]) => {
    const sums: Record<string, number> = {};
    for (const [shared, count] of Object.entries(all)) {
      const name = names.get(shared) ?? tenantPrefix;
      sums[name] = (sums[name] ?? 0) + count;
    }
    return sums;
  };
  const refused = move.rejectedBy.map((one) => ({
    ...one,
    cluster: names.get(one.cluster) ?? tenantPrefix,
    message: "the owner of the workload gets the reason",
  }));
  const { kind, namespace, name, unscheduled } = move;
  const [from, to] = [shares(move.from), shares(move.to)];
  return {
    kind,
    namespace,
    name,
    from,
    to,
    unscheduled,
    reasons: [],
    rejectedBy: refused,
    ofOtherTenant: true,
  };
}
