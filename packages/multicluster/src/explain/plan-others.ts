/** What would move of those who use the clusters of a workspace from elsewhere. Whoever has the clusters learns as much of it as a drain tells: kinds, names and numbers, not whose. */
import { runYielding } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";
import { isSharedTargetName, sharedTargetName } from "../api/index.ts";
import type { EvaluationTime, WorkspaceSnapshot } from "./fleet.ts";
import {
  type ComputeWorkspace,
  readComputeWorkspace,
  readComputeWorkspaces,
  readTenants,
  withComputeWorkspaces,
} from "./homes.ts";
import { type PlannedMove, planChangeInSteps } from "./plan-change.ts";
import { readSnapshot } from "./read-fleet.ts";

export interface TenantsPlan {
  readonly moves: readonly PlannedMove[];
  readonly replicas: number;
  readonly staying: number;
  /** Workspaces beyond those that were looked at. */
  readonly unseenWorkspaces: number;
}

export interface PlanTenantsOptions {
  /** Of the server; may read everywhere. */
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** One after the other: what is held at a time is one workspace. */
export const reviewedWorkspacesMax = 500;

/** Of a cluster that is not the home's. */
const tenantPrefix = "elsewhere";

export async function planTenants(
  before: WorkspaceSnapshot,
  after: WorkspaceSnapshot,
  moment: EvaluationTime,
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
    const [own, homes] = await Promise.all([
      readSnapshot({ client: client.inCluster(cluster), cluster, signal }),
      readComputeWorkspaces(client, cluster, { signal }),
    ]);
    const fleet = { ...own, global: before.global };
    const then = homes.map((home) =>
      home.cluster === found.cluster ? { ...changed, paths: home.paths } : home,
    );
    const now = withComputeWorkspaces(fleet, homes);
    const plan = await runYielding(
      planChangeInSteps(now, () => withComputeWorkspaces(fleet, then), moment),
    );
    replicas += plan.replicas;
    staying += plan.staying;
    moves.push(...plan.moves.map((move) => describeTenantMove(move, changed)));
  }
  const unseenWorkspaces = Math.max(0, tenants.length - reviewedWorkspacesMax);
  return { moves, replicas, staying, unseenWorkspaces };
}

function isOwn({ metadata }: WorkspaceSnapshot["targets"][number]): boolean {
  return !isSharedTargetName(metadata.name);
}

/** By the names that the home has for its clusters. Why something has no place, or may not go, is its owner's to know. */
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
  const refused = move.refused.map((one) => ({
    ...one,
    cluster: names.get(one.cluster) ?? tenantPrefix,
    message: "its owner is told why",
  }));
  const { kind, namespace, name, unplaced } = move;
  const [from, to] = [shares(move.from), shares(move.to)];
  return { kind, namespace, name, from, to, unplaced, because: [], refused, isOfOthers: true };
}
