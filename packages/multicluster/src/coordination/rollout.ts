/**
 * How moves of a whole go: the budget over all clusters together. Annotations of the whole come first, then what its Placement says.
 *
 *     workloads.kcp.io/max-surge: 25%                    how many replicas more than asked for there may be meanwhile; as many as move if left out
 *     workloads.kcp.io/max-unavailable: 1                how many fewer may be available; none if left out
 *     workloads.kcp.io/paused: "true"                    nothing moves that need not
 *     workloads.kcp.io/progress-deadline-seconds: 600    so long a new place may take to become available
 *     workloads.kcp.io/rollback: "false"                 what does not become available in time is waited for all the same
 *     workloads.kcp.io/toleration-seconds: 300           so long a cluster may be lost before what it has is replaced
 *     workloads.kcp.io/at-most-one: "true"               nothing is started before what it replaces has surely stopped
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { PlacementError } from "./placement-error.ts";
import type { RolloutBudget } from "./plan-moves.ts";

export const maxSurgeAnnotation = "workloads.kcp.io/max-surge";
export const maxUnavailableAnnotation = "workloads.kcp.io/max-unavailable";
export const pausedAnnotation = "workloads.kcp.io/paused";
export const progressDeadlineAnnotation = "workloads.kcp.io/progress-deadline-seconds";
export const rollbackAnnotation = "workloads.kcp.io/rollback";
export const tolerationAnnotation = "workloads.kcp.io/toleration-seconds";
export const failoverStrategyAnnotation = "workloads.kcp.io/at-most-one";

/** `spec.rollout` of a Placement. */
export interface Rollout {
  /** A number, or a percentage that is rounded up. */
  readonly maxSurge?: number | string;
  /** A number, or a percentage that is rounded down. */
  readonly maxUnavailable?: number | string;
  readonly paused?: boolean;
  readonly progressDeadlineSeconds?: number;
  readonly rollback?: boolean;
}

/** `spec.failover` of a Placement. */
export interface Failover {
  readonly tolerationSeconds?: number;
  readonly atMostOne?: boolean;
}

/** Throws a PlacementError that names the annotation. */
export function rolloutOf(annotations: StringMap | undefined, policy: Rollout = {}): Rollout {
  const maxSurge = amount(annotations, maxSurgeAnnotation) ?? policy.maxSurge;
  const maxUnavailable = amount(annotations, maxUnavailableAnnotation) ?? policy.maxUnavailable;
  const paused = flag(annotations, pausedAnnotation) ?? policy.paused;
  const seconds = count(annotations, progressDeadlineAnnotation) ?? policy.progressDeadlineSeconds;
  const rollback = flag(annotations, rollbackAnnotation) ?? policy.rollback;
  return {
    ...(maxSurge === undefined ? {} : { maxSurge }),
    ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
    ...(paused === undefined ? {} : { paused }),
    ...(seconds === undefined ? {} : { progressDeadlineSeconds: seconds }),
    ...(rollback === undefined ? {} : { rollback }),
  };
}

/** Throws a PlacementError that names the annotation. */
export function failoverOf(annotations: StringMap | undefined, policy: Failover = {}): Failover {
  const seconds = count(annotations, tolerationAnnotation) ?? policy.tolerationSeconds;
  const atMostOne = flag(annotations, failoverStrategyAnnotation) ?? policy.atMostOne;
  return {
    ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
    ...(atMostOne === undefined ? {} : { atMostOne }),
  };
}

/** In replicas. With neither more nor fewer nothing could move, so then it is one more; nor can there be fewer of a single one, which is not taken away before it is replaced. */
export function budgetOf(
  { maxSurge, maxUnavailable, paused, progressDeadlineSeconds, rollback }: Rollout,
  { atMostOne }: Failover,
  replicas: number,
): RolloutBudget {
  const unavailable = inReplicas(maxUnavailable ?? 0, replicas, Math.floor);
  const surge =
    maxSurge === undefined ? Number.POSITIVE_INFINITY : inReplicas(maxSurge, replicas, Math.ceil);
  // While it is paused no time passes; and what breaks before it makes has nothing to go back to.
  const isWaiting = rollback === false || paused === true || atMostOne === true;
  const spared = Math.min(unavailable, Math.max(0, replicas - 1));
  return {
    surge: surge === 0 && spared === 0 ? 1 : surge,
    unavailable,
    isPaused: paused === true,
    isExclusive: atMostOne === true,
    deadlineMs:
      progressDeadlineSeconds === undefined || isWaiting
        ? undefined
        : progressDeadlineSeconds * 1000,
  };
}

function inReplicas(
  limit: number | string,
  replicas: number,
  round: (exact: number) => number,
): number {
  if (typeof limit === "number") return limit;
  const percent = /^(\d{1,9})%$/.exec(limit)?.[1];
  return percent === undefined ? Number(limit) : round((replicas * Number(percent)) / 100);
}

function amount(annotations: StringMap | undefined, name: string): string | undefined {
  const text = stringMember(annotations, name)?.trim();
  if (text === undefined || text === "") return undefined;
  if (!/^\d{1,9}%?$/.test(text))
    throw new PlacementError(`annotation ${name}: "${text}" is neither like 3 nor like 25%`);
  return text;
}

function count(annotations: StringMap | undefined, name: string): number | undefined {
  const text = stringMember(annotations, name)?.trim();
  if (text === undefined || text === "") return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new PlacementError(`annotation ${name}: "${text}" is no number of seconds`);
  return Number(text);
}

function flag(annotations: StringMap | undefined, name: string): boolean | undefined {
  const text = stringMember(annotations, name)?.trim();
  if (text === undefined || text === "") return undefined;
  if (text !== "true" && text !== "false")
    throw new PlacementError(`annotation ${name}: "${text}" is neither true nor false`);
  return text === "true";
}
