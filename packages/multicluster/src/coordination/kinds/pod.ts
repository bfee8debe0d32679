/**
 * Bare Pods: in one cluster. One that is to run for ever is moved like a replica, the new one first; one that is to run once is never in two
 * clusters that can be seen, and not started again when it has ended.
 */
import { defineResource } from "@kcp-ts/sdk";
import { aggregatedConditions, reachableCopies, unlessEqual } from "../fold-parts.ts";
import { finishInPlace, planStopBeforeStart } from "../plan-exclusive.ts";
import { withMoveGuards } from "../plan-gently.ts";
import { planIndivisible } from "../plan-whole.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, conditionsOf, statusText, type Workload } from "../workload.ts";

export const pods = defineResource<Workload>({
  group: "",
  version: "v1",
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});

export const podStrategy: Strategy = {
  name: "pods",
  sharing: "single",
  wholes: pods,
  parts: pods,
  accept: asWorkload,
  acceptPart: asWorkload,
  asked: (whole) => (isOver(whole) ? 0 : 1),
  shareOf: () => ({ replicas: 1 }),
  report: (part) => ({
    available: available(part),
    isObserved: statusText(part, "phase") !== undefined,
    isStuck: statusText(part, "phase") === "Failed",
  }),
  specFor: ({ spec }) => spec,
  plan: (input, whole) =>
    runsOnce(whole)
      ? withMoveGuards(input, (wish) => planStopBeforeStart(finishInPlace(wish)))
      : planIndivisible(input),
  fold(input) {
    const known = reachableCopies(input);
    const { parent } = input;
    const shown = known.find(({ object }) => available(object) > 0) ?? known[0];
    // How it ended is known, wherever that was.
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

/** Of one that runs once, whether it still does. */
function available(pod: Workload): number {
  if (runsOnce(pod)) return isOver(pod) ? 0 : 1;
  return conditionsOf(pod).some(({ type, status }) => type === "Ready" && status === "True")
    ? 1
    : 0;
}
