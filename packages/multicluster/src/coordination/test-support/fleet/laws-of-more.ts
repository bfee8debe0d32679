/** Who may be given more. */
import assert from "node:assert/strict";
import { assignedCluster } from "../../../api/index.ts";
import { readMoveRecord } from "../../move-record.ts";
import type { Workload } from "../../workload.ts";
import type { ClusterSet } from "./fleet.ts";
import { isOpenTo } from "./permissions.ts";
import type { ObservedWorkload, SimulatedWorkload } from "./whole.ts";

export interface ScaleUp {
  readonly fleet: ClusterSet;
  readonly whole: SimulatedWorkload;
  readonly seen: ObservedWorkload;
  /** Undefined: it is made. */
  readonly before: Workload | undefined;
  readonly after: Workload;
}

export function checkScaleUp(more: ScaleUp): void {
  const { fleet, whole, seen, after } = more;
  const cluster = assignedCluster(after.metadata.labels) ?? "";
  const target = fleet.targets.get(cluster);
  assert.ok(target !== undefined, `${whole.name} is sent to ${cluster}, which is not registered`);
  if (isReturn(more)) return;
  const { standing } = fleet.judgement(cluster);
  const isOpen = isOpenTo(fleet, whole, target, seen);
  assert.ok(isOpen, `${whole.name} is sent to ${cluster}, which is ${standing} or not selected`);
  const pods = target.allocatable?.["pods"];
  if (pods === undefined || whole.kind.hasPods !== true) return;
  const { replicas } = whole.kind.strategy.shareOf(after);
  assert.ok(replicas <= Number(pods), `${cluster} gets ${replicas} of ${whole.name}, has ${pods}`);
}

/** What did not become available elsewhere in time, or whose claim may not leave, goes back to where it was; a schedule at rest goes on where it is when its move is paused. */
function isReturn({ whole, before, after }: ScaleUp): boolean {
  const cluster = assignedCluster(after.metadata.labels);
  const claims = [...whole.claims.values()];
  if (claims.some(({ stays, home }) => stays && home === cluster)) return true;
  if (before === undefined) return false;
  if (whole.kind.law === "single") return true;
  const { replicas } = whole.kind.strategy.shareOf(after);
  const record = readMoveRecord(before.metadata.annotations);
  return record !== undefined && replicas <= record.from;
}
