/** Invariants of scale-ups and creations. */
import assert from "node:assert/strict";
import { assignedCluster } from "../../../api/index.ts";
import { clusterRecordsOf } from "../../placement-record.ts";
import type { Workload } from "../../workload.ts";
import type { ClusterSet } from "./cluster-set.ts";
import { isOpenTo } from "./eligibility.ts";
import type { ObservedWorkload, SimulatedWorkload } from "./simulated-workload.ts";

export interface ScaleUp {
  readonly clusterSet: ClusterSet;
  readonly workload: SimulatedWorkload;
  readonly observed: ObservedWorkload;
  /** The copy before the write; undefined when it is created. */
  readonly before: Workload | undefined;
  readonly after: Workload;
}

export function checkScaleUp(more: ScaleUp): void {
  const { clusterSet, workload, observed, after } = more;
  const cluster = assignedCluster(after.metadata.labels) ?? "";
  const target = clusterSet.targets.get(cluster);
  assert.ok(
    target !== undefined,
    `${workload.name} is sent to ${cluster}, which is not registered`,
  );
  if (isReturn(more)) return;
  const { state } = clusterSet.evaluation(cluster);
  const isOpen = isOpenTo(clusterSet, workload, target, observed);
  assert.ok(isOpen, `${workload.name} is sent to ${cluster}, which is ${state} or not selected`);
  const pods = target.allocatable?.["pods"];
  if (pods === undefined || workload.kind.hasPods !== true) return;
  const { replicas } = workload.kind.strategy.shareOf(after);
  assert.ok(
    replicas <= Number(pods),
    `${cluster} gets ${replicas} of ${workload.name}, has ${pods}`,
  );
}

/**
 * Replicas that missed their deadline elsewhere, or whose claim must not leave, return to their
 * cluster; a suspended schedule resumes in its cluster when its move is paused.
 */
function isReturn({ workload, observed, before, after }: ScaleUp): boolean {
  const cluster = assignedCluster(after.metadata.labels) ?? "";
  const claims = [...workload.claims.values()];
  if (claims.some(({ stays, home }) => stays && home === cluster)) return true;
  if (before === undefined) return false;
  if (workload.kind.invariants === "single") return true;
  const { replicas } = workload.kind.strategy.shareOf(after);
  const { move } = clusterRecordsOf(observed.record).get(cluster) ?? {};
  return move !== undefined && replicas <= move.from;
}
