/**
 * Whose endpoints count: those of clusters that can be seen. A cluster that is not Ready keeps them for a moment, since watches break and come back; one that was
 * withdrawn gets them back a moment after it is Ready, when its reports have been brought up to date.
 *
 *                      not Ready for withdrawMs
 *          counted ─────────────────────────────▶ withdrawn
 *             ▲                                      │
 *             └────────── Ready for returnMs ────────┘
 *
 * One that is withdrawn is not lost yet: until the splitter gives it up, it may be counted on at any moment.
 */
import { type ClusterInfo, evaluateCluster } from "../coordination/index.ts";

export interface EndpointGracePeriods {
  /** So long a cluster may be not Ready before its endpoints are withdrawn. */
  readonly withdrawMs: number;
  /** So long one that was withdrawn has to be Ready again. */
  readonly returnMs: number;
}

export interface TrafficGracePeriods extends EndpointGracePeriods {
  /** So long a cluster may be not Ready before the splitter holds it for lost. */
  readonly graceMs: number;
}

/** With the time that it takes to find out that a cluster in Push mode has fallen silent (`clusterPings`), less than ten seconds. */
export const endpointGracePeriodsDefault: EndpointGracePeriods = {
  withdrawMs: 4000,
  returnMs: 2000,
};

export interface EndpointVisibility {
  readonly counts: boolean;
  /** When time alone changes it. */
  readonly untilMs: number | undefined;
}

/** Whether the splitter counts on nothing in it any more, and when it will not. */
export function unreachabilityOf(
  target: ClusterInfo | undefined,
  nowMs: number,
  { graceMs }: Pick<TrafficGracePeriods, "graceMs">,
): { readonly isLost: boolean; readonly untilMs: number | undefined } {
  const { standing } = evaluateCluster(target, nowMs, { graceMs, settleMs: 0 });
  const isLost = standing === "lost" || standing === "gone";
  const isWavering = target !== undefined && standing === "wavering";
  return { isLost, untilMs: isWavering ? target.changedAtMs + graceMs : undefined };
}

export function endpointVisibilityOf(
  target: Pick<ClusterInfo, "isReady" | "changedAtMs"> | undefined,
  wasWithdrawn: boolean,
  nowMs: number,
  { withdrawMs, returnMs }: EndpointGracePeriods,
): EndpointVisibility {
  if (target === undefined) return { counts: false, untilMs: undefined };
  const { isReady, changedAtMs } = target;
  if (isReady) {
    const returnAtMs = changedAtMs + returnMs;
    return wasWithdrawn && nowMs < returnAtMs
      ? { counts: false, untilMs: returnAtMs }
      : { counts: true, untilMs: undefined };
  }
  const withdrawAtMs = changedAtMs + withdrawMs;
  return !wasWithdrawn && nowMs < withdrawAtMs
    ? { counts: true, untilMs: withdrawAtMs }
    : { counts: false, untilMs: undefined };
}
