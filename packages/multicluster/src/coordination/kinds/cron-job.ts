/**
 * CronJobs: one cluster runs the schedule. A move suspends the CronJob there, lets running Jobs
 * finish, removes the copy, and starts the copy in the next cluster: two clusters with the same
 * schedule would run every Job twice.
 */
import { defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { type CopyStatus, reachableCopies, unlessEqual } from "../status-aggregation.ts";
import { singleSchedule } from "../stepper/capabilities.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, statusText, type Workload } from "../workload.ts";

export const cronJobs = defineResource<Workload>(kinds.cronJobs);

export const cronJobStrategy: Strategy = {
  name: "cronjobs.batch",
  capabilities: singleSchedule,
  workloads: cronJobs,
  copies: cronJobs,
  accept: asWorkload,
  acceptCopy: asWorkload,
  desiredReplicas: () => 1,
  shareOf: ({ spec }) => ({ replicas: (spec as { suspend?: unknown }).suspend === true ? 0 : 1 }),
  statusReportOf: (copy) => ({
    available: activeOf(copy).length,
    isObserved: true,
    isStuck: false,
  }),
  specFor: ({ spec }, { replicas }) => (replicas === 0 ? { ...spec, suspend: true } : spec),
  /** A CronJob has no conditions: Events report its cluster. */
  aggregateStatus(input) {
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

/** The last times stay in the status after the CronJob has left the cluster that reported them. */
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
