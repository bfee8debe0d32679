/**
 * The stable assignment that a decision leads to. For most kinds the plan contains it; ordinals
 * move one at a time, so that this module repeats the steps until none is left. Pure.
 */
import type { Decision } from "./decide.ts";
import type { ClusterShare } from "./plan-moves.ts";
import { planOrdinals } from "./plan-ordinals.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export function finalAssignment(
  strategy: Strategy,
  workload: Workload,
  { plan, clusters, totalLimit }: Decision,
): ReadonlyMap<string, number> {
  if (strategy.replicaScheduling !== "Ordinal" || plan.surplus === 0) return plan.goal;
  const replicas = strategy.desiredReplicas(workload);
  const first = strategy.shareOf(workload).start ?? 0;
  let shares: readonly ClusterShare[] = clusters.map(({ share }) => share);
  // Each ordinal takes three steps (reserve, start, remove), and a few more when adjacent ranges
  // shift.
  for (let step = 0; step < 10 + replicas * 8; step++) {
    const { next, starts } = planOrdinals({
      replicas,
      first,
      clusters: shares,
      maxTotal: totalLimit?.replicas,
    });
    const after = shares.map((share) => stepped(share, next, starts));
    if (after.every((share, index) => share === shares[index])) break;
    shares = after;
  }
  return new Map(shares.map(({ name, copy }) => [name, copy?.replicas ?? 0]));
}

function stepped(
  share: ClusterShare,
  next: ReadonlyMap<string, number | "remove">,
  starts: ReadonlyMap<string, number> | undefined,
): ClusterShare {
  const wanted = next.get(share.name);
  if (wanted === undefined) return share;
  const { copy, ...rest } = share;
  if (wanted === "remove") return rest;
  const start = starts?.get(share.name) ?? copy?.start ?? 0;
  if (copy?.replicas === wanted && copy.start === start && copy.available === wanted) return share;
  const idle = { isStuck: false, isDeleting: false, isUnmanaged: false, ...copy };
  const running = { available: wanted, running: wanted, isObserved: true };
  return { ...share, copy: { ...idle, replicas: wanted, start, ...running } };
}
