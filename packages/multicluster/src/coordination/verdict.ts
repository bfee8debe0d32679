/** What is said about the split of a Deployment: in its condition Placed and, when nothing goes on without help, in Progressing. */
import { softFinalizersAnnotation } from "../api/index.ts";
import type { ClusterSchedulingResult, ReplicaLimit } from "../scheduling/index.ts";
import type { ScheduledResult } from "./fold-parts.ts";
import type { MoveState } from "./move-machine.ts";
import { moveAnnotation } from "./move-record.ts";
import type { ClusterShare, Plan } from "./plan-moves.ts";
import type { RolloutPlan } from "./rolling/roll-out.ts";
import { rolloutMessage } from "./rolling/roll-out-text.ts";
import type { ClusterState } from "./standing.ts";

export interface ScheduledInput {
  readonly replicas: number;
  readonly places: readonly {
    readonly name: string;
    readonly member: ClusterShare;
    readonly prospect?: ClusterSchedulingResult | undefined;
  }[];
  readonly plan: Plan;
  /** What may be in all clusters together. */
  readonly total?: ReplicaLimit | undefined;
  /** Names that parts would need and other objects have. */
  readonly takenNames: ReadonlySet<string>;
  /** Why the annotations cannot be read. */
  readonly problem: string | undefined;
  readonly rollOut?: RolloutPlan | undefined;
}

export function scheduledResultOf(input: ScheduledInput): ScheduledResult {
  const { replicas, places, plan, takenNames, problem, rollOut } = input;
  const blocked = (reason: string, message: string): ScheduledResult => ({
    isPlaced: false,
    isBlocked: true,
    reason,
    message,
  });
  if (problem !== undefined) {
    return {
      ...blocked("InvalidPlacement", `${problem}; the split stays as it is`),
      isBlocked: false,
    };
  }
  const isRegistered = places.some(({ member: { standing } }) => standing !== "gone");
  if (takenNames.size > 0 && plan.unplaced > 0) {
    const names = [...takenNames].sort().join(", ");
    return blocked("NameTaken", `other Deployments have the names of its parts: ${names}`);
  }
  if (!isRegistered) return blocked("NoRegisteredClusters", nextStep);
  if (plan.obstacle !== undefined) {
    const verdict = blocked("OutOfRange", plan.obstacle);
    return { ...verdict, isBlocked: plan.unplaced > 0 };
  }
  if (plan.unplaced > 0) {
    // Of what is in every cluster, as many as there are clusters.
    const all = [...plan.goal.values()].reduce((sum, share) => sum + share, plan.unplaced);
    const asked = Math.max(replicas, all);
    const { reason, why } = shortage({ ...input, replicas: asked });
    const message = `${plan.unplaced} of ${asked} replicas have no cluster to go to: ${why}`;
    return blocked(reason, message);
  }
  const verdict =
    awaitingFencing(places) ??
    rolledBack(plan) ??
    paused(plan, places) ??
    disruptionBlocked(plan) ??
    moving(plan, places) ??
    deferred(plan) ??
    rollingOut(plan, rollOut) ??
    placed(plan);
  const lost = places.filter(({ member }) => member.standing === "lost" && member.part);
  if (lost.length === 0) return verdict;
  const message = `${verdict.message}; lost: ${lost.map(({ name }) => name).join(", ")}`;
  return { ...verdict, message };
}

/** What keeps replicas from being placed. What is full may have room again, so it is told from what is not wanted there. */
function shortage({ replicas, places, plan, total }: ScheduledInput): {
  readonly reason: string;
  readonly why: string;
} {
  if (
    total !== undefined &&
    total.replicas < replicas &&
    replicas - total.replicas >= plan.unplaced
  )
    return { reason: "NoCapacity", why: total.because };
  const isFull = places.some(({ member }) => isOpen(member) && member.room !== undefined);
  const isRefused = places.some(({ prospect }) => refusals(prospect).length > 0);
  const why = places.map(
    (place) => unschedulableReason(place) ?? `${place.name} is ${words[place.member.standing]}`,
  );
  const reason = isFull ? "NoCapacity" : isRefused ? "NoEligibleClusters" : "NoReadyClusters";
  return { reason, why: why.join(", ") };
}

function isOpen({ standing }: ClusterShare): boolean {
  return standing === "accepting" || standing === "settling";
}

/** What keeps replicas from a cluster; undefined when nothing does. */
export function unschedulableReason(place: ScheduledInput["places"][number]): string | undefined {
  const { name, member, prospect } = place;
  const because = refusals(prospect);
  if (because.length > 0) return `${name}: ${because.join(", ")}`;
  if (!isOpen(member)) return `${name} is ${words[member.standing]}`;
  return prospect?.room === undefined ? undefined : `${name}: ${prospect.room.because}`;
}

function refusals(prospect: ClusterSchedulingResult | undefined): readonly string[] {
  return [...(prospect?.expelled ?? []), ...(prospect?.refused ?? [])];
}

const nextStep =
  "no clusters are registered to receive Deployments; register one with a SyncTarget (kubectl apply), see docs/multicluster.md";

const words: Readonly<Record<ClusterState, string>> = {
  accepting: "ready",
  cordoned: "cordoned",
  settling: "ready again, but not for long",
  wavering: "not ready",
  leaving: "being emptied, or excluded",
  lost: "lost",
  gone: "not registered",
};

function moving(
  { goal, surplus }: Plan,
  places: ScheduledInput["places"],
): ScheduledResult | undefined {
  const starting = places.flatMap(({ name, member: { part } }) => {
    const share = goal.get(name) ?? 0;
    const available = Math.min(part?.available ?? 0, part?.replicas ?? 0);
    return available < share ? [`${available} of ${share} are available in ${name}`] : [];
  });
  if (surplus === 0) return undefined;
  const message = `${surplus} replicas are removed from where they are when their replacements are available: ${starting.join(", ")}`;
  return placing("Moving", message);
}

const placing = (reason: string, message: string): ScheduledResult => ({
  isPlaced: false,
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

function awaitingFencing(places: ScheduledInput["places"]): ScheduledResult | undefined {
  const running = places.filter(
    ({ member: { standing, isFenced, part } }) =>
      standing === "lost" && isFenced === false && (part?.replicas ?? 0) > 0,
  );
  if (running.length === 0) return undefined;
  const names = running.map(({ name }) => name).join(", ");
  const message = `at most one: ${names} may still run what it has. It is replaced when the lease of the cluster's agent is surely over; a cluster in mode Push has none, nor can agents stop kinds of your own: delete its SyncTarget when you know that it is down`;
  return placing("Unfenced", message);
}

function rolledBack(plan: Plan): ScheduledResult | undefined {
  const names = inState(plan, "rolledBack");
  if (names === "") return undefined;
  const message = `what was started in ${names} did not become available in time and was taken back: it is tried again when the object is edited, or when the annotation ${moveAnnotation} is removed from its parts`;
  return placing("RolledBack", message);
}

/** They should leave, and are wanted where they are: only a pause says so. */
function paused({ goal }: Plan, places: ScheduledInput["places"]): ScheduledResult | undefined {
  const kept = places.filter(
    ({ name, member }) => member.standing === "leaving" && (goal.get(name) ?? 0) > 0,
  );
  if (kept.length === 0) return undefined;
  const names = kept.map(({ name }) => name).join(", ");
  return placing("Paused", `moves are paused: replicas that are to leave ${names} stay`);
}

function disruptionBlocked(plan: Plan): ScheduledResult | undefined {
  const names = inState(plan, "shifting");
  if (names === "") return undefined;
  const message = `replicas in ${names} are replaced, and kept while the annotation ${softFinalizersAnnotation("<cluster>")} of their part names somebody who needs them`;
  return placing("Held", message);
}

function deferred({ deferred: count, goal }: Plan): ScheduledResult | undefined {
  if (count === 0) return undefined;
  const shares = [...goal].filter(([, share]) => share > 0).sort();
  const split = shares.map(([name, share]) => `${name} ${share}`).join(", ");
  return placing(
    "Waiting",
    `${count} replicas wait for the budget, for volumes, or for others to stop: ${split}`,
  );
}

function placed({ goal }: Plan): ScheduledResult {
  const shares = [...goal].filter(([, share]) => share > 0).sort();
  const message = shares.map(([name, share]) => `${name} ${share}`).join(", ");
  return { isPlaced: true, isBlocked: false, reason: "Split", message };
}

/** All is where it is to be; what its Pods are made from is not everywhere the newest. */
function rollingOut(plan: Plan, rollOut: RolloutPlan | undefined): ScheduledResult | undefined {
  if (rollOut === undefined || rollOut.state === "done") return undefined;
  const message = `${placed(plan).message}; ${rolloutMessage(rollOut)}`;
  return { ...placed(plan), reason: rollReasons[rollOut.state], message };
}

const rollReasons = { rolling: "RollingOut", paused: "Paused", undone: "RolledBack" } as const;
