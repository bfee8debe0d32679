/**
 * The rolling update limits of a workload, over all clusters together. Annotations of the workload
 * take precedence over its Placement.
 *
 *     workload.kcp.io/max-surge: 25%
 *       replicas above the requested number during a move; all moving replicas if omitted
 *     workload.kcp.io/max-unavailable: 1
 *       replicas that may be unavailable during a move; none if omitted
 *     workload.kcp.io/paused: "true"
 *       only required moves happen
 *     workload.kcp.io/progress-deadline-seconds: 600
 *       time for replicas in a new cluster to become available; a Deployment's own
 *       progressDeadlineSeconds if omitted
 *     workload.kcp.io/rollback: "false"
 *       the move waits for replicas past the deadline instead of rolling back
 *     workload.kcp.io/toleration-seconds: 300
 *       time that a cluster may be Unreachable before its replicas are replaced
 *     workload.kcp.io/failover-strategy: StopBeforeStart
 *       no replica starts before the replica that it replaces has certainly stopped
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import type { FailoverStrategy } from "../api/index.ts";
import { PlacementError } from "./placement-error.ts";
import type { RolloutBudget } from "./stepper/cluster-share.ts";

export const maxSurgeAnnotation = "workload.kcp.io/max-surge";
export const maxUnavailableAnnotation = "workload.kcp.io/max-unavailable";
export const pausedAnnotation = "workload.kcp.io/paused";
export const progressDeadlineAnnotation = "workload.kcp.io/progress-deadline-seconds";
export const rollbackAnnotation = "workload.kcp.io/rollback";
export const tolerationAnnotation = "workload.kcp.io/toleration-seconds";
export const failoverStrategyAnnotation = "workload.kcp.io/failover-strategy";

/** The type of a Placement's `spec.rollout`. */
export interface Rollout {
  /** A number, or a percentage that is rounded up. */
  readonly maxSurge?: number | string;
  /** A number, or a percentage that is rounded down. */
  readonly maxUnavailable?: number | string;
  readonly paused?: boolean;
  readonly progressDeadlineSeconds?: number;
  readonly rollback?: boolean;
}

/** The type of a Placement's `spec.failover`. */
export interface Failover {
  readonly tolerationSeconds?: number;
  readonly strategy?: FailoverStrategy;
}

/** Reads the rollout annotations. Throws a PlacementError that names the annotation. */
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

/** Reads the failover annotations. Throws a PlacementError that names the annotation. */
export function failoverOf(annotations: StringMap | undefined, policy: Failover = {}): Failover {
  const seconds = count(annotations, tolerationAnnotation) ?? policy.tolerationSeconds;
  const strategy = strategyIn(annotations) ?? policy.strategy;
  return {
    ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
    ...(strategy === undefined ? {} : { strategy }),
  };
}

/**
 * The limits in replicas. With 0 for both limits nothing could move, so the surge is then 1;
 * maxUnavailable does not apply to a single replica, which stays until it is replaced.
 */
export function budgetOf(
  { maxSurge, maxUnavailable, paused, progressDeadlineSeconds, rollback }: Rollout,
  { strategy }: Failover,
  replicas: number,
): RolloutBudget {
  const unavailable = inReplicas(maxUnavailable ?? 0, replicas, Math.floor);
  const surge =
    maxSurge === undefined ? Number.POSITIVE_INFINITY : inReplicas(maxSurge, replicas, Math.ceil);
  // The deadline does not run while moves are paused; and StopBeforeStart has no old replica to
  // roll back to.
  const isStopBeforeStart = strategy === "StopBeforeStart";
  const isWaiting = rollback === false || paused === true || isStopBeforeStart;
  const spared = Math.min(unavailable, Math.max(0, replicas - 1));
  return {
    surge: surge === 0 && spared === 0 ? 1 : surge,
    unavailable,
    isPaused: paused === true,
    isStopBeforeStart,
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

function strategyIn(annotations: StringMap | undefined): FailoverStrategy | undefined {
  const text = stringMember(annotations, failoverStrategyAnnotation)?.trim();
  if (text === undefined || text === "") return undefined;
  if (text !== "StopBeforeStart" && text !== "StartBeforeStop")
    throw new PlacementError(
      `annotation ${failoverStrategyAnnotation}: "${text}" is neither StopBeforeStart nor StartBeforeStop`,
    );
  return text;
}

function flag(annotations: StringMap | undefined, name: string): boolean | undefined {
  const text = stringMember(annotations, name)?.trim();
  if (text === undefined || text === "") return undefined;
  if (text !== "true" && text !== "false")
    throw new PlacementError(`annotation ${name}: "${text}" is neither true nor false`);
  return text === "true";
}
