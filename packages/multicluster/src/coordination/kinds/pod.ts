/**
 * Bare Pods: in one cluster. A Pod that runs forever moves like a replica, with StartBeforeStop; a
 * Pod that runs once is never in two reachable clusters, and does not start again after it has
 * finished.
 */
import { defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { aggregatedConditions, reachableCopies, unlessEqual } from "../status-aggregation.ts";
import { singleOverlapping, singleRunningOnce } from "../stepper/capabilities.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, conditionsOf, statusText, type Workload } from "../workload.ts";

export const pods = defineResource<Workload>(kinds.pods);

export const podStrategy: Strategy = {
  name: "pods",
  capabilities: singleOverlapping,
  capabilitiesOf: (pod) => (runsOnce(pod) ? singleRunningOnce : singleOverlapping),
  workloads: pods,
  copies: pods,
  accept: asWorkload,
  acceptCopy: asWorkload,
  desiredReplicas: (workload) => (isOver(workload) ? 0 : 1),
  shareOf: () => ({ replicas: 1 }),
  statusReportOf: (copy) => ({
    available: available(copy),
    isObserved: statusText(copy, "phase") !== undefined,
    isStuck: statusText(copy, "phase") === "Failed",
  }),
  specFor: ({ spec }) => spec,
  aggregateStatus(input) {
    const known = reachableCopies(input);
    const { parent } = input;
    const shown = known.find(({ object }) => available(object) > 0) ?? known[0];
    // The result of a finished Pod is final, in any cluster.
    const { conditions: _, ...status } = ((isOver(parent) ? parent : shown?.object)?.status ??
      {}) as { conditions?: unknown };
    return unlessEqual(parent, {
      phase: "Pending",
      ...status,
      conditions: aggregatedConditions(input, shown === undefined ? [] : [shown]),
    });
  },
};

function isOver(pod: Workload): boolean {
  const phase = statusText(pod, "phase");
  return runsOnce(pod) && (phase === "Succeeded" || phase === "Failed");
}

function runsOnce({ spec }: Workload): boolean {
  const { restartPolicy = "Always" } = spec as { restartPolicy?: unknown };
  return restartPolicy !== "Always";
}

/** For a Pod that runs once: whether it still runs. */
function available(pod: Workload): number {
  if (runsOnce(pod)) return isOver(pod) ? 0 : 1;
  return conditionsOf(pod).some(({ type, status }) => type === "Ready" && status === "True")
    ? 1
    : 0;
}
