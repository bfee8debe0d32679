/**
 * The result of scheduling a workload, as its status reports it: in the condition Scheduled and,
 * when nothing progresses without help, in Progressing.
 */
import { softFinalizersAnnotation } from "../api/index.ts";
import type { ReplicaLimit } from "../scheduling/index.ts";
import type { ClusterPlacement } from "./placement-record.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
import { rolloutMessage } from "./rollout/rollout-message.ts";
import { type RuledCluster, unavailability } from "./rule-records.ts";
import type { ScheduledResult } from "./status-aggregation.ts";
import type { MoveState } from "./stepper/move-machine.ts";
import type { Plan } from "./stepper/plan.ts";

export interface ScheduledInput {
  readonly replicas: number;
  readonly clusters: readonly RuledCluster[];
  readonly plan: Plan;
  /** The limit on replicas over all clusters. */
  readonly totalLimit?: ReplicaLimit | undefined;
  /** Names that per-cluster objects need and foreign objects have. */
  readonly takenNames: ReadonlySet<string>;
  /** The reason why the annotations cannot be parsed. */
  readonly problem: string | undefined;
  /** The record, with refusals of the writes that this decision repeats. */
  readonly refused?: readonly ClusterPlacement[];
  readonly rollout?: RolloutPlan | undefined;
}

/** A reason of the condition Scheduled; the first rule that finds something decides. */
export interface ScheduledRule {
  /** Whether the assignment causes it, or a step towards the assignment. */
  readonly phase: "Assign" | "Step";
  readonly reasons: readonly string[];
  readonly does: string;
  check(input: ScheduledInput): ScheduledResult | undefined;
}

export const scheduledRules: readonly ScheduledRule[] = [
  {
    phase: "Assign",
    reasons: ["InvalidPlacement"],
    does: "the placement annotations or overrides of the workload cannot be used; nothing changes",
    check: ({ problem }) =>
      problem === undefined
        ? undefined
        : pending("InvalidPlacement", `${problem}; the placement stays as it is`),
  },
  {
    phase: "Assign",
    reasons: ["Forbidden", "Invalid", "Refused"],
    does: "the server refuses a per-cluster object, because of a quota, a webhook or a policy",
    check: refusedWrites,
  },
  {
    phase: "Assign",
    reasons: ["NameConflict"],
    does: "other objects have the names of per-cluster objects",
    check({ takenNames, plan }) {
      if (takenNames.size === 0 || plan.unscheduled === 0) return undefined;
      const names = [...takenNames].sort().join(", ");
      return blocked("NameConflict", `other objects have the names of its copies: ${names}`);
    },
  },
  {
    phase: "Assign",
    reasons: ["Unschedulable"],
    does: "no cluster is registered",
    check: ({ clusters }) =>
      clusters.every(({ share }) => share.state === "Unregistered")
        ? blocked("Unschedulable", nextStep)
        : undefined,
  },
  {
    phase: "Assign",
    reasons: ["OrdinalRangeExhausted"],
    does: "a cluster has one range of ordinals, and no cluster that accepts more has a range beside these",
    check: ({ plan: { unschedulableReason, unscheduled } }) =>
      unschedulableReason === undefined
        ? undefined
        : { ...blocked("OrdinalRangeExhausted", unschedulableReason), isBlocked: unscheduled > 0 },
  },
  {
    phase: "Assign",
    reasons: ["PartiallyScheduled", "Unschedulable"],
    does: "no cluster takes some of the replicas: the records of all clusters, counted by message",
    check: (input) => (input.plan.unscheduled > 0 ? blocked(...shortage(input)) : undefined),
  },
  {
    phase: "Step",
    reasons: ["AwaitingFencing"],
    does: "StopBeforeStart: an Unreachable cluster may still run its replicas",
    check: ({ clusters }) => awaitingFencing(clusters),
  },
  {
    phase: "Step",
    reasons: ["RolledBack"],
    does: "replicas missed the progress deadline",
    check: ({ plan }) => rolledBack(plan),
  },
  {
    phase: "Step",
    reasons: ["Paused"],
    does: "replicas are to leave a cluster, and moves are paused",
    check: ({ plan, clusters }) => paused(plan, clusters),
  },
  {
    phase: "Step",
    reasons: ["DisruptionBlocked"],
    does: "soft finalizers keep replicas that are replaced",
    check: ({ plan }) => disruptionBlocked(plan),
  },
  {
    phase: "Step",
    reasons: ["Migrating"],
    does: "replicas leave when their replacements are available",
    check: ({ plan, clusters }) => migrating(plan, clusters),
  },
  {
    phase: "Step",
    reasons: ["SurgeLimited", "WaitingForVolumes", "WaitingForTermination"],
    does: "replicas start later: after maxSurge, their volumes, or the replicas that they replace",
    check: ({ plan }) => deferred(plan),
  },
  {
    phase: "Step",
    reasons: ["RollingOut", "Paused", "RolledBack"],
    does: "all replicas are where they should be; their template is not everywhere the newest",
    check: ({ plan, rollout }) => rollingOut(plan, rollout),
  },
  {
    phase: "Step",
    reasons: ["AllReplicasScheduled"],
    does: "all replicas are where they should be",
    check: ({ plan }) => allScheduled(plan),
  },
];

export function scheduledResultOf(input: ScheduledInput): ScheduledResult {
  for (const { phase, check } of scheduledRules) {
    const result = check(input);
    if (result === undefined) continue;
    const unreachable = input.clusters.filter(
      ({ share }) => share.state === "Unreachable" && share.copy,
    );
    if (phase === "Assign" || unreachable.length === 0) return result;
    const names = unreachable.map(({ name }) => name).join(", ");
    return { ...result, message: `${result.message}; unreachable: ${names}` };
  }
  return allScheduled(input.plan);
}

/** Nothing progresses without a change by a user. */
function blocked(reason: string, message: string): ScheduledResult {
  return { isScheduled: false, isBlocked: true, reason, message };
}

function pending(reason: string, message: string): ScheduledResult {
  return { isScheduled: false, isBlocked: false, reason, message };
}

function refusedWrites({ refused = [] }: ScheduledInput): ScheduledResult | undefined {
  const [first] = refused;
  if (first?.refusal === undefined) return undefined;
  const texts = refused.map(({ name, refusal }) => `${name}: ${refusal?.message}`);
  return blocked(first.refusal.reason, texts.join("; "));
}

/**
 * In the form of kube-scheduler: how many are scheduled, and why no cluster takes the others,
 * counted by reason.
 */
function shortage({
  replicas,
  clusters,
  plan: { goal, unscheduled },
  totalLimit,
}: ScheduledInput): [reason: string, message: string] {
  const scheduled = sharesOf(goal).reduce((sum, [, share]) => sum + share, 0);
  // Of what is in every cluster, as many are asked for as there are clusters.
  const requested = Math.max(replicas, scheduled + unscheduled);
  const isBeyondTotal =
    totalLimit !== undefined &&
    totalLimit.replicas < requested &&
    requested - totalLimit.replicas >= unscheduled;
  const why = isBeyondTotal ? totalLimit.reason : unavailability(clusters);
  return [
    requested > unscheduled ? "PartiallyScheduled" : "Unschedulable",
    `${requested - unscheduled}/${requested} replicas scheduled: ${why}`,
  ];
}

const nextStep =
  "0/0 clusters are available: no clusters are registered; register one with a SyncTarget (kubectl apply), see docs/multicluster.md";

function migrating(
  { goal, surplus }: Plan,
  clusters: readonly RuledCluster[],
): ScheduledResult | undefined {
  if (surplus === 0) return undefined;
  const starting = clusters.flatMap(({ name, share: { copy } }) => {
    const share = goal.get(name) ?? 0;
    const available = Math.min(copy?.available ?? 0, copy?.replicas ?? 0);
    if (available < share) return [`${available}/${share} available in ${name}`];
    // What it has reported of an older spec says nothing of the replacements.
    const isUnknown = share > 0 && copy?.isObserved === false;
    return isUnknown ? [`${name} has not applied its newest spec`] : [];
  });
  const [what, whose] =
    surplus === 1 ? ["1 replica is", "its"] : [`${surplus} replicas are`, "their"];
  const message = `${what} removed when ${whose} replacements are available: ${starting.join(", ")}`;
  return pending("Migrating", message);
}

function inState({ states }: Plan, state: MoveState): string {
  return [...states]
    .filter(([, one]) => one === state)
    .map(([name]) => name)
    .sort()
    .join(", ");
}

function awaitingFencing(clusters: readonly RuledCluster[]): ScheduledResult | undefined {
  const running = clusters.filter(
    ({ share: { state, isFenced, copy } }) =>
      state === "Unreachable" && isFenced === false && (copy?.replicas ?? 0) > 0,
  );
  if (running.length === 0) return undefined;
  const names = running.map(({ name }) => name).join(", ");
  const message = `StopBeforeStart: ${names} may still run its replicas. They are replaced when the lease of the cluster's agent has surely expired; a cluster in mode Push has none, nor can agents stop custom kinds: delete its SyncTarget when you know that it is down`;
  return pending("AwaitingFencing", message);
}

function rolledBack(plan: Plan): ScheduledResult | undefined {
  const names = inState(plan, "rolledBack");
  if (names === "") return undefined;
  const message = `replicas in ${names} did not become available within the progress deadline and were rolled back: edit the object to try again`;
  return pending("RolledBack", message);
}

/**
 * Replicas should leave a Draining cluster and the plan keeps them there: only a pause causes this.
 */
function paused({ goal }: Plan, clusters: readonly RuledCluster[]): ScheduledResult | undefined {
  const kept = clusters.filter(
    ({ name, share }) => share.state === "Draining" && (goal.get(name) ?? 0) > 0,
  );
  if (kept.length === 0) return undefined;
  const names = kept.map(({ name }) => name).join(", ");
  return pending("Paused", `migrations are paused: replicas that are to leave ${names} stay`);
}

function disruptionBlocked(plan: Plan): ScheduledResult | undefined {
  const names = inState(plan, "disruptionBlocked");
  if (names === "") return undefined;
  const message = `replicas in ${names} are replaced, and kept while the annotation ${softFinalizersAnnotation("<cluster>")} of their copy has members`;
  return pending("DisruptionBlocked", message);
}

function deferred({
  deferred: count,
  deferredReason = "SurgeLimited",
  goal,
}: Plan): ScheduledResult | undefined {
  if (count === 0) return undefined;
  return pending(
    deferredReason,
    `${count} replicas ${deferredTexts[deferredReason]}: ${sharesText(goal)}`,
  );
}

const deferredTexts = {
  SurgeLimited: "wait for maxSurge",
  WaitingForVolumes: "wait for their volumes",
  WaitingForTermination: "wait for the replicas that they replace to stop",
} as const satisfies Readonly<Record<NonNullable<Plan["deferredReason"]>, string>>;

function allScheduled({ goal }: Plan): ScheduledResult {
  const message = sharesText(goal);
  return { isScheduled: true, isBlocked: false, reason: "AllReplicasScheduled", message };
}

function sharesOf(goal: Plan["goal"]): readonly (readonly [string, number])[] {
  return [...goal].filter(([, share]) => share > 0).sort();
}

function sharesText(goal: Plan["goal"]): string {
  return sharesOf(goal)
    .map(([name, share]) => `${name} ${share}`)
    .join(", ");
}

/** All replicas are where they should be; their template is not everywhere the newest. */
function rollingOut(plan: Plan, rollout: RolloutPlan | undefined): ScheduledResult | undefined {
  if (rollout === undefined || rollout.state === "Complete") return undefined;
  const scheduled = allScheduled(plan);
  const message = `${scheduled.message}; ${rolloutMessage(rollout)}`;
  return { ...scheduled, reason: rollout.state, message };
}
