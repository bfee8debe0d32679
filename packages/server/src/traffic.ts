/** Wiring: how many requests are at work, in which order, and what one tenant may hold. */
import type { Clock } from "@kcp-ts/machinery/base";
import type { Deadlines } from "./deadlines.ts";
import {
  Fairness,
  FairnessMetrics,
  type FairnessOptions,
  type ObjectCounter,
} from "./fairness/index.ts";
import type { ServerMetrics } from "./metrics/index.ts";
import { clusterPrefix } from "./storage/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export interface TrafficOptions {
  /** `off`: every request begins at once. */
  readonly fairness?:
    | Pick<FairnessOptions, "seatsTotal" | "turnBudgetMicros" | "waitMaxMs">
    | "off";
}

export interface Traffic {
  readonly fairness: Fairness | undefined;
  readonly objectCount: ObjectCounter;
}

interface TrafficParts {
  readonly clock: Clock;
  readonly deadlines: Deadlines<() => void>;
  readonly metrics: ServerMetrics;
  readonly watchCache: WatchCache;
}

export function composeTraffic(options: TrafficOptions, parts: TrafficParts): Traffic {
  return {
    fairness: options.fairness === "off" ? undefined : fairnessOf(options.fairness ?? {}, parts),
    objectCount: objectCounter(parts.watchCache),
  };
}

function fairnessOf(
  options: Exclude<TrafficOptions["fairness"], "off" | undefined>,
  { clock, deadlines, metrics: { registry } }: TrafficParts,
): Fairness {
  const metrics = new FairnessMetrics(registry, () => fairness);
  const fairness = new Fairness({
    ...options,
    clock,
    timers: deadlines,
    onRejected: (schema, reason) => metrics.onRejected(schema, reason),
    onWaited: (schema, seconds, isExecuted) => metrics.onWaited(schema, seconds, isExecuted),
  });
  return fairness;
}

/** Known for built-in kinds that are in memory; anything else counts as small until it is. */
function objectCounter({ collections }: WatchCache): ObjectCounter {
  return ({ cluster, group, resource }) =>
    cluster === "*"
      ? undefined
      : collections.countOf(clusterPrefix({ group, resource, identity: "", cluster }));
}
