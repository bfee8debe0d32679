/** The rollout of a whole, from where its parts are and what its moves give each next. */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import type { EvaluatedCluster } from "../decide.ts";
import { type RolloutBudget, unlimitedBudget } from "../members.ts";
import type { Plan } from "../plan-moves.ts";
import type { Rollout } from "../rollout.ts";
import type { Strategy } from "../strategy.ts";
import { syncedAnnotation } from "../synced.ts";
import type { Workload } from "../workload.ts";
import { copyRolloutViewOf } from "./part-view.ts";
import { planRollout, type RolloutPlan, type RolloutRequest } from "./roll-out.ts";

export interface WorkloadRolloutInput {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly places: readonly EvaluatedCluster[];
  readonly steps: Pick<Plan, "next" | "starts">;
  readonly unplaced: number;
  readonly rollout: Rollout | undefined;
  readonly budget: RolloutBudget | undefined;
  /** What is asked for cannot be read. */
  readonly isHeld: boolean;
  readonly nowMs: number;
}

/** Undefined for kinds whose edits reach all clusters at once. */
export function workloadRollout(input: WorkloadRolloutInput): RolloutPlan | undefined {
  const { strategy, parent, places, steps, rollout = {}, budget = unlimitedBudget, nowMs } = input;
  const { rolling: form } = strategy;
  if (form === undefined) return undefined;
  const [parts, made]: [RolloutRequest["parts"][number][], Map<string, Workload["spec"]>] = [
    [],
    new Map(),
  ];
  let removed = 0;
  for (const { name, object, member } of places) {
    const replicas = steps.next.get(name);
    if (replicas === "remove" && object !== undefined) removed += form.pods(object, object.spec);
    if (typeof replicas !== "number") continue;
    const start = steps.starts?.get(name);
    const share = { replicas, ...(start === undefined ? {} : { start }) };
    const wanted = strategy.specFor(parent, share, name);
    if (object === undefined) made.set(name, wanted);
    else {
      const isRefused = hasSyncError(object.metadata.annotations, name);
      parts.push(copyRolloutViewOf(form, { member, object, wanted, isRefused }));
    }
  }
  const asked = strategy.asked(parent);
  const isPaused = budget.isPaused || isPausedByAuthor(parent) || input.isHeld;
  return planRollout({
    form,
    spec: strategy.specFor(parent, { replicas: asked }, ""),
    total: strategy.sharing === "duplicate" ? undefined : asked,
    unplaced: input.unplaced,
    removed,
    parts,
    made,
    limits: rollout,
    budget: { ...budget, isPaused },
    nowMs,
  });
}

function hasSyncError(annotations: StringMap | undefined, cluster: string): boolean {
  return stringMember(annotations, syncedAnnotation(cluster)) !== undefined;
}

/** `kubectl rollout pause`. */
function isPausedByAuthor({ spec }: Workload): boolean {
  return (spec as { paused?: unknown }).paused === true;
}
