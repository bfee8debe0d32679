/** The rollout of a workload, from the states of its copies and the next replicas of each. */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { syncErrorAnnotation } from "../../api/index.ts";
import type { EvaluatedCluster } from "../decide.ts";
import type { Rollout } from "../rollout-policy.ts";
import { type RolloutBudget, unlimitedBudget } from "../stepper/cluster-share.ts";
import type { Plan } from "../stepper/plan.ts";
import type { Strategy } from "../strategy.ts";
import type { Workload } from "../workload.ts";
import { copyRolloutViewOf } from "./copy-rollout-view.ts";
import { planRollout, type RolloutPlan, type RolloutRequest } from "./plan-rollout.ts";
import type { RolloutRecord } from "./rollout-record.ts";

export interface WorkloadRolloutInput {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly clusters: readonly EvaluatedCluster[];
  /** The recorded rollouts, by cluster. */
  readonly rollouts: ReadonlyMap<string, RolloutRecord>;
  readonly steps: Pick<Plan, "next" | "starts">;
  readonly unscheduled: number;
  readonly rollout: Rollout | undefined;
  readonly budget: RolloutBudget | undefined;
  /** The placement annotations cannot be parsed. */
  readonly isDisruptionBlocked: boolean;
  readonly nowMs: number;
}

/** The rollout plan; undefined for kinds whose edits reach all clusters at once. */
export function workloadRollout(input: WorkloadRolloutInput): RolloutPlan | undefined {
  const {
    strategy,
    parent,
    clusters,
    rollouts,
    steps,
    rollout = {},
    budget = unlimitedBudget,
    nowMs,
  } = input;
  const { rollout: kindRollout } = strategy;
  if (kindRollout === undefined) return undefined;
  const [copies, appliedTemplates]: [
    RolloutRequest["copies"][number][],
    Map<string, Workload["spec"]>,
  ] = [[], new Map()];
  let removed = 0;
  for (const { name, object, share: member } of clusters) {
    const replicas = steps.next.get(name);
    if (replicas === "remove" && object !== undefined)
      removed += kindRollout.pods(object, object.spec);
    if (typeof replicas !== "number") continue;
    const start = steps.starts?.get(name);
    const share = { replicas, ...(start === undefined ? {} : { start }) };
    const wanted = strategy.specFor(parent, share, name);
    if (object === undefined) appliedTemplates.set(name, wanted);
    else {
      const isRefused = hasSyncError(object.metadata.annotations, name);
      const observed = rollouts.get(name);
      const viewed = { share: member, object, wanted, observed, isRefused };
      copies.push(copyRolloutViewOf(kindRollout, viewed));
    }
  }
  const requested = strategy.desiredReplicas(parent);
  const isPaused = budget.isPaused || isPausedByAuthor(parent) || input.isDisruptionBlocked;
  return planRollout({
    kindRollout,
    spec: strategy.specFor(parent, { replicas: requested }, ""),
    total: strategy.capabilities.unit === "Everywhere" ? undefined : requested,
    unscheduled: input.unscheduled,
    removed,
    copies,
    appliedTemplates,
    limits: rollout,
    budget: { ...budget, isPaused },
    nowMs,
  });
}

function hasSyncError(annotations: StringMap | undefined, cluster: string): boolean {
  return stringMember(annotations, syncErrorAnnotation(cluster)) !== undefined;
}

/** The author paused the workload with `kubectl rollout pause`. */
function isPausedByAuthor({ spec }: Workload): boolean {
  return (spec as { paused?: unknown }).paused === true;
}
