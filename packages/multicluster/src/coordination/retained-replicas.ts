/**
 * Retained replicas: replicas that a decision leaves in a cluster that they should leave, because
 * no feasible cluster exists or because moves are paused.
 */

import type { EvaluatedCluster } from "./decide.ts";
import type { Shares } from "./placement-record.ts";
import { isUnreachable } from "./stepper/cluster-share.ts";
import type { Plan } from "./stepper/plan.ts";

/**
 * The assigned replicas that have no feasible cluster now and stay. Replicas that were retained
 * before are retained before other surplus replicas.
 */
export function retainedReplicas(
  clusters: readonly EvaluatedCluster[],
  { goal, next }: Pick<Plan, "goal" | "next">,
  { meant, before }: { readonly meant: number; readonly before?: Shares | undefined },
): Shares {
  let missing = meant;
  for (const share of goal.values()) missing -= share;
  const kept: Record<string, number> = {};
  if (missing <= 0) return kept;
  const keep = ({ name, share: { copy } }: EvaluatedCluster, most: number) => {
    const wanted = next.get(name) ?? copy?.replicas ?? 0;
    const left = wanted === "remove" ? 0 : wanted;
    const known = kept[name] ?? 0;
    const more = Math.min(missing, most, left - (goal.get(name) ?? 0) - known);
    if (more <= 0) return;
    kept[name] = known + more;
    missing -= more;
  };
  const there = clusters
    .filter(({ share }) => share.state !== "Unregistered" && share.copy?.isDeleting !== true)
    .sort((a, b) => rank(a) - rank(b));
  for (const evaluated of there) keep(evaluated, before?.[evaluated.name] ?? 0);
  for (const evaluated of there) keep(evaluated, missing);
  return kept;
}

/**
 * An Unreachable cluster ranks last: its replicas cannot be observed, and other clusters may have
 * replaced them.
 */
function rank({ share: { state } }: EvaluatedCluster): number {
  if (state === "Draining") return 0;
  return state === "Unreachable" ? 2 : 1;
}

/**
 * The copies of a duplicated workload in Unreachable clusters stay, and exist when the clusters are
 * back.
 */
export function unreachableCopies(clusters: readonly EvaluatedCluster[]): Shares {
  const unreachable = clusters.filter(
    ({ share }) => isUnreachable(share) && share.copy?.isDeleting === false,
  );
  return Object.fromEntries(
    unreachable.map(({ name, share }) => [name, share.copy?.replicas ?? 0]),
  );
}

/**
 * Whether more replicas are assigned than the limit: they exist twice because their move is paused.
 */
export function isSurplus({ goal }: Plan, maxTotal: number): boolean {
  return [...goal.values()].reduce((all, share) => all + share, 0) > maxTotal;
}
