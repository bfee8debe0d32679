/** Who may be given more. */
import assert from "node:assert/strict";
import { assignedCluster } from "../../../api/index.ts";
import { moveRecordOf } from "../../move-record.ts";
import type { Workload } from "../../workload.ts";
import type { Fleet } from "./fleet.ts";
import { isOpenTo } from "./permissions.ts";
import type { Seen, Whole } from "./whole.ts";

export interface More {
  readonly fleet: Fleet;
  readonly whole: Whole;
  readonly seen: Seen;
  /** Undefined: it is made. */
  readonly before: Workload | undefined;
  readonly after: Workload;
}

export function checkMore(more: More): void {
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
function isReturn({ whole, before, after }: More): boolean {
  const cluster = assignedCluster(after.metadata.labels);
  const claims = [...whole.claims.values()];
  if (claims.some(({ stays, home }) => stays && home === cluster)) return true;
  if (before === undefined) return false;
  if (whole.kind.law === "single") return true;
  const { replicas } = whole.kind.strategy.shareOf(after);
  const record = moveRecordOf(before.metadata.annotations);
  return record !== undefined && replicas <= record.from;
}
