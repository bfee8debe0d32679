/**
 * Pods that a simulated cluster replaces as a Deployment does: maxUnavailable and maxSurge hold at
 * any time.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

export interface RollingPod {
  readonly template: string;
  readonly readyAtMs: number;
}

export interface RollingLimits {
  readonly replicas: number;
  readonly unavailable: number;
  readonly surge: number;
  readonly isRecreate: boolean;
}

/** The limits of a spec's `strategy`, with the API's defaults. */
export function rollingLimitsOf(spec: JsonObject, replicas: number): RollingLimits {
  const { type, rollingUpdate } = objectOf(spec["strategy"]);
  const { maxUnavailable = "25%", maxSurge = "25%" } = objectOf(rollingUpdate);
  const surge = amount(maxSurge, replicas, Math.ceil);
  const unavailable = amount(maxUnavailable, replicas, Math.floor);
  const isRecreate = type === "Recreate";
  return { replicas, surge, unavailable: Math.max(unavailable, surge === 0 ? 1 : 0), isRecreate };
}

export interface RollingUpdate {
  readonly template: string;
  readonly limits: RollingLimits;
  readonly nowMs: number;
  /** The time at which a Pod that starts now is ready. */
  readonly start: () => number;
}

/** One step of the replacement. */
export function rollPods(pods: readonly RollingPod[], rolling: RollingUpdate): RollingPod[] {
  const { template, limits, nowMs, start } = rolling;
  const { replicas, surge, isRecreate } = limits;
  const isReady = ({ readyAtMs }: RollingPod) => readyAtMs <= nowMs;
  const isOld = (pod: RollingPod) => pod.template !== template;
  // Pods that are not ready stop first, and of these the old ones.
  const worth = (pod: RollingPod) => (isReady(pod) ? 2 : 0) + (isOld(pod) ? 0 : 1);
  const left = [...pods].sort((a, b) => worth(b) - worth(a));
  const most = left.some(isOld) && !isRecreate ? replicas + surge : replicas;
  if (left.length > most) left.length = most;
  const old = left.filter(isOld);
  if (isRecreate && old.length > 0) return left.filter((pod) => !isOld(pod));
  const wanted = Math.min(replicas, left.length - old.length + most - left.length);
  while (left.length - old.length < wanted) left.push({ template, readyAtMs: start() });
  for (const pod of toStop(left, old, limits, isReady)) left.splice(left.indexOf(pod), 1);
  return left;
}

/** Old Pods to stop: those that are not ready, and ready ones within maxUnavailable. */
function toStop(
  all: readonly RollingPod[],
  old: readonly RollingPod[],
  { replicas, unavailable }: RollingLimits,
  isReady: (pod: RollingPod) => boolean,
): readonly RollingPod[] {
  const least = replicas - unavailable;
  const starting = all.filter((pod) => !old.includes(pod) && !isReady(pod)).length;
  const spare = Math.max(0, all.length - least - starting);
  const idle = old.filter((pod) => !isReady(pod)).slice(0, spare);
  const ready = all.filter(isReady).length;
  const others = old
    .filter(isReady)
    .slice(0, Math.max(0, Math.min(ready - least, spare - idle.length)));
  return [...idle, ...others];
}

export function amount(
  limit: JsonValue | undefined,
  of: number,
  round: (exact: number) => number,
): number {
  return typeof limit === "string" ? round((of * Number.parseInt(limit, 10)) / 100) : Number(limit);
}

export function objectOf(value: JsonValue | undefined): Record<string, JsonValue | undefined> {
  return value !== undefined && isJsonObject(value) ? { ...value } : {};
}
