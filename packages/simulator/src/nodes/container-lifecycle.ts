/**
 * The lifecycle of a container as a function of time: when it runs, ends, waits and runs again.
 * Pure.
 */
import type { Behaviour } from "./behaviour.ts";

export type ContainerPhase =
  | { readonly kind: "waiting"; readonly reason: string; readonly message?: string }
  | { readonly kind: "running"; readonly sinceMs: number }
  | { readonly kind: "ended"; readonly sinceMs: number; readonly untilMs: number };

export interface ContainerLifecycle {
  readonly phase: ContainerPhase;
  readonly restarts: number;
  /** The previous run. */
  readonly last: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  /** When the phase changes by itself. */
  readonly nextAtMs: number | undefined;
}

const backOffFirstMs = 10_000;
const backOffMaxMs = 300_000;
const pullRetryMs = 10_000;

export function lifecycleAt(
  behaviour: Behaviour,
  restartPolicy: string,
  startAtMs: number,
  nowMs: number,
): ContainerLifecycle {
  if (nowMs < startAtMs)
    return {
      phase: waiting("ContainerCreating"),
      restarts: 0,
      last: undefined,
      nextAtMs: startAtMs,
    };
  if (behaviour.failure !== undefined) return failing(behaviour.failure, startAtMs, nowMs);
  const { runMs, exitCode } = behaviour;
  if (runMs === undefined) return running(startAtMs, 0, undefined, undefined);
  const isRestarted =
    restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
  let sinceMs = startAtMs;
  let last: ContainerLifecycle["last"];
  for (let restarts = 0; ; restarts++) {
    const untilMs = sinceMs + runMs;
    if (nowMs < untilMs) return running(sinceMs, restarts, last, untilMs);
    last = { sinceMs, untilMs };
    if (!isRestarted)
      return { phase: { kind: "ended", ...last }, restarts, last: undefined, nextAtMs: undefined };
    const againAtMs = untilMs + backOffMs(restarts);
    if (nowMs < againAtMs) {
      const phase = waiting("CrashLoopBackOff", "back-off restarting failed container");
      return { phase, restarts, last, nextAtMs: againAtMs };
    }
    // A container that ends and restarts immediately must still advance in time.
    sinceMs = Math.max(againAtMs, sinceMs + 1);
  }
}

/** The first restart is immediate; then the backoff doubles. */
export function backOffMs(restarts: number): number {
  if (restarts === 0) return 0;
  return Math.min(backOffMaxMs, backOffFirstMs * 2 ** Math.min(restarts - 1, 10));
}

function failing(failure: string, startAtMs: number, nowMs: number): ContainerLifecycle {
  if (failure === "create")
    return {
      phase: waiting("CreateContainerError", "the container cannot be made"),
      restarts: 0,
      last: undefined,
      nextAtMs: undefined,
    };
  const isEarly = nowMs < startAtMs + pullRetryMs;
  return {
    phase: isEarly
      ? waiting("ErrImagePull", "the image cannot be pulled")
      : waiting("ImagePullBackOff", "Back-off pulling image"),
    restarts: 0,
    last: undefined,
    nextAtMs: isEarly ? startAtMs + pullRetryMs : undefined,
  };
}

function waiting(reason: string, message?: string): ContainerPhase {
  return { kind: "waiting", reason, ...(message === undefined ? {} : { message }) };
}

function running(
  sinceMs: number,
  restarts: number,
  last: ContainerLifecycle["last"],
  nextAtMs: number | undefined,
): ContainerLifecycle {
  return { phase: { kind: "running", sinceMs }, restarts, last, nextAtMs };
}
