/**
 * Decides which clusters' endpoints are published: those of observed clusters. A cluster that is
 * not Ready keeps its endpoints for a moment, because watches break and are reopened; a withdrawn
 * cluster gets them back a moment after it is Ready, when its reports are up to date.
 *
 *                      not Ready for withdrawMs
 *          published ───────────────────────────▶ withdrawn
 *             ▲                                      │
 *             └────────── Ready for returnMs ────────┘
 *
 * A withdrawn cluster is not Unreachable yet: until the coordinator gives it up, its endpoints may
 * return at any moment.
 */
import { type ClusterInfo, evaluateCluster } from "../coordination/index.ts";

export interface EndpointGracePeriods {
  /** How long a cluster may be not Ready before its endpoints are withdrawn. */
  readonly withdrawMs: number;
  /** How long a withdrawn cluster must be Ready again. */
  readonly returnMs: number;
}

export interface TrafficGracePeriods extends EndpointGracePeriods {
  /** How long a cluster may be not Ready before the coordinator considers it Unreachable. */
  readonly unreachableAfterMs: number;
}

/**
 * Together with the time to detect an unresponsive cluster in Push mode (`clusterPings`), less than
 * ten seconds.
 */
export const endpointGracePeriodsDefault: EndpointGracePeriods = {
  withdrawMs: 4000,
  returnMs: 2000,
};

export interface EndpointVisibility {
  readonly isVisible: boolean;
  /** When time alone changes the visibility. */
  readonly untilMs: number | undefined;
}

/** Whether the cluster is Unreachable for the coordinator, and when it will be. */
export function unreachabilityOf(
  target: ClusterInfo | undefined,
  nowMs: number,
  { unreachableAfterMs }: Pick<TrafficGracePeriods, "unreachableAfterMs">,
): { readonly isLost: boolean; readonly untilMs: number | undefined } {
  const { state } = evaluateCluster(target, nowMs, { unreachableAfterMs, recoveryMs: 0 });
  const isLost = state === "Unreachable" || state === "Unregistered";
  const isWavering = target !== undefined && state === "NotReady";
  return { isLost, untilMs: isWavering ? target.changedAtMs + unreachableAfterMs : undefined };
}

export function endpointVisibilityOf(
  target: Pick<ClusterInfo, "isReady" | "changedAtMs"> | undefined,
  wasWithdrawn: boolean,
  nowMs: number,
  { withdrawMs, returnMs }: EndpointGracePeriods,
): EndpointVisibility {
  if (target === undefined) return { isVisible: false, untilMs: undefined };
  const { isReady, changedAtMs } = target;
  if (isReady) {
    const returnAtMs = changedAtMs + returnMs;
    return wasWithdrawn && nowMs < returnAtMs
      ? { isVisible: false, untilMs: returnAtMs }
      : { isVisible: true, untilMs: undefined };
  }
  const withdrawAtMs = changedAtMs + withdrawMs;
  return !wasWithdrawn && nowMs < withdrawAtMs
    ? { isVisible: true, untilMs: withdrawAtMs }
    : { isVisible: false, untilMs: undefined };
}
