/**
 * The result of scheduling a workload, as its status reports it: in the condition Scheduled and,
 * when nothing progresses without help, in Progressing.
 */
import { softFinalizersAnnotation } from "../api/index.ts";
import type { ClusterSchedulingResult, ReplicaLimit } from "../scheduling/index.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { ClusterPlacement } from "./placement-record.ts";
import type { RolloutPlan } from "./rollout/plan-rollout.ts";
import { rolloutMessage } from "./rollout/rollout-message.ts";
import type { ScheduledResult } from "./status-aggregation.ts";
import type { ClusterShare } from "./stepper/cluster-share.ts";
import type { MoveState } from "./stepper/move-machine.ts";
import type { Plan } from "./stepper/plan.ts";

export interface ScheduledInput {
  readonly replicas: number;
  readonly clusters: readonly ScheduledCluster[];
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

interface ScheduledCluster {
  readonly name: string;
  readonly share: ClusterShare;
  readonly schedulingResult?: ClusterSchedulingResult | undefined;
}

export function scheduledResultOf(input: ScheduledInput): ScheduledResult {
  const { clusters, plan, takenNames, problem, refused = [], rollout } = input;
  const blocked = (reason: string, message: string): ScheduledResult => ({
    isScheduled: false,
    isBlocked: true,
    reason,
    message,
  });
  if (problem !== undefined) {
    return {
      ...blocked("InvalidPlacement", `${problem}; the placement stays as it is`),
      isBlocked: false,
    };
  }
  const [first] = refused;
  if (first?.refusal !== undefined) {
    const texts = refused.map(({ name, refusal }) => `${name}: ${refusal?.message}`);
    return blocked(first.refusal.reason, texts.join("; "));
  }
  if (takenNames.size > 0 && plan.unscheduled > 0) {
    const names = [...takenNames].sort().join(", ");
    return blocked("NameConflict", `other objects have the names of its copies: ${names}`);
  }
  if (clusters.every(({ share }) => share.state === "Unregistered"))
    return blocked("Unschedulable", nextStep);
  if (plan.unschedulableReason !== undefined) {
    const result = blocked("OrdinalRangeExhausted", plan.unschedulableReason);
    return { ...result, isBlocked: plan.unscheduled > 0 };
  }
  if (plan.unscheduled > 0) return blocked(...shortage(input));
  const result =
    awaitingFencing(clusters) ??
    rolledBack(plan) ??
    paused(plan, clusters) ??
    disruptionBlocked(plan) ??
    migrating(plan, clusters) ??
    deferred(plan) ??
    rollingOut(plan, rollout) ??
    allScheduled(plan);
  const unreachable = clusters.filter(({ share }) => share.state === "Unreachable" && share.copy);
  if (unreachable.length === 0) return result;
  const names = unreachable.map(({ name }) => name).join(", ");
  return { ...result, message: `${result.message}; unreachable: ${names}` };
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

function unavailability(clusters: readonly ScheduledCluster[]): string {
  const counts = new Map<string, number>();
  let available = 0;
  for (const cluster of clusters) {
    const reasons = unschedulableReasons(cluster);
    if (reasons.length === 0) available++;
    for (const { reason } of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const counted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const groups = counted.map(([reason, count]) => `${count} ${reason}`).join(", ");
  const head = `${available}/${clusters.length} clusters are available`;
  return groups === "" ? head : `${head}: ${groups}`;
}

interface UnschedulableReason {
  /** The same for all clusters that it is true of. */
  readonly reason: string;
  readonly detail?: string | undefined;
}

/** What keeps replicas from a cluster; none when nothing does. */
function unschedulableReasons(cluster: ScheduledCluster): readonly UnschedulableReason[] {
  const { share, schedulingResult } = cluster;
  const { evictionReasons = [], filterReasons = [], maxReplicas } = schedulingResult ?? {};
  const refusals = [...evictionReasons, ...filterReasons];
  if (refusals.length > 0) return refusals.map((reason) => ({ reason }));
  const isOpen = share.state === "Ready" || share.state === "Recovering";
  if (!isOpen) return [{ reason: stateTexts[share.state] }];
  return maxReplicas === undefined ? [] : [maxReplicas];
}

/**
 * The same for one cluster, with all that is known; undefined when nothing keeps replicas from it.
 */
export function unschedulableReason(cluster: ScheduledCluster): string | undefined {
  const texts = unschedulableReasons(cluster).map(({ reason, detail }) =>
    detail === undefined ? reason : `${reason}: ${detail}`,
  );
  return texts.length === 0 ? undefined : texts.join(", ");
}

const nextStep =
  "0/0 clusters are available: no clusters are registered; register one with a SyncTarget (kubectl apply), see docs/multicluster.md";

const stateTexts: Readonly<Record<ClusterState, string>> = {
  Ready: "ready",
  Cordoned: "unschedulable",
  Recovering: "recovering",
  NotReady: "not ready",
  Draining: "draining",
  Unreachable: "unreachable",
  Unregistered: "unregistered",
};

function migrating(
  { goal, surplus }: Plan,
  clusters: readonly ScheduledCluster[],
): ScheduledResult | undefined {
  if (surplus === 0) return undefined;
  const starting = clusters.flatMap(({ name, share: { copy } }) => {
    const share = goal.get(name) ?? 0;
    const available = Math.min(copy?.available ?? 0, copy?.replicas ?? 0);
    return available < share ? [`${available}/${share} available in ${name}`] : [];
  });
  const message = `${surplus} replicas are removed when their replacements are available: ${starting.join(", ")}`;
  return pending("Migrating", message);
}

const pending = (reason: string, message: string): ScheduledResult => ({
  isScheduled: false,
  isBlocked: false,
  reason,
  message,
});

function inState({ states }: Plan, state: MoveState): string {
  return [...states]
    .filter(([, one]) => one === state)
    .map(([name]) => name)
    .sort()
    .join(", ");
}

function awaitingFencing(clusters: readonly ScheduledCluster[]): ScheduledResult | undefined {
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
function paused(
  { goal }: Plan,
  clusters: readonly ScheduledCluster[],
): ScheduledResult | undefined {
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
