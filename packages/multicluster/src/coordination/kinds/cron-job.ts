/**
 * CronJobs: one cluster keeps the schedule. A move suspends it there, lets what runs end, removes it, and starts it in the next place: two
 * clusters that keep the same schedule would run everything twice.
 */
import { defineResource } from "@kcp-ts/sdk";
import { type CopyStatus, reachableCopies, unlessEqual } from "../fold-parts.ts";
import { planStopBeforeStart } from "../plan-exclusive.ts";
import { withMoveGuards } from "../plan-gently.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, statusText, type Workload } from "../workload.ts";

export const cronJobs = defineResource<Workload>({
  group: "batch",
  version: "v1",
  resource: "cronjobs",
  kind: "CronJob",
  namespaced: true,
});

export const cronJobStrategy: Strategy = {
  name: "cronjobs.batch",
  sharing: "single",
  wholes: cronJobs,
  parts: cronJobs,
  accept: asWorkload,
  acceptPart: asWorkload,
  asked: () => 1,
  shareOf: ({ spec }) => ({ replicas: (spec as { suspend?: unknown }).suspend === true ? 0 : 1 }),
  report: (part) => ({ available: activeOf(part).length, isObserved: true, isStuck: false }),
  specFor: ({ spec }, { replicas }) => (replicas === 0 ? { ...spec, suspend: true } : spec),
  plan: (input) => withMoveGuards(input, (wish) => planStopBeforeStart({ ...wish, canRest: true })),
  /** A CronJob has no conditions: where it is, Events say. */
  fold(input) {
    const known = reachableCopies(input);
    const active = known.flatMap(({ object }) => activeOf(object));
    return unlessEqual(input.parent, {
      ...(active.length === 0 ? {} : { active }),
      ...latest(known, input.parent, "lastScheduleTime"),
      ...latest(known, input.parent, "lastSuccessfulTime"),
    });
  },
};

function activeOf({ status }: Workload): readonly object[] {
  const { active } = (status ?? {}) as { active?: unknown };
  return Array.isArray(active) ? active : [];
}

/** What has been stays, though the cluster that knew it is left. */
function latest(
  known: readonly CopyStatus[],
  parent: Workload,
  field: string,
): Record<string, string> {
  const times = [parent, ...known.map(({ object }) => object)].flatMap((object) => {
    const time = statusText(object, field);
    return time === undefined ? [] : [time];
  });
  const [last] = times.sort().reverse();
  return last === undefined ? {} : { [field]: last };
}
