/**
 * Jobs: completions are divided when the Job starts, and parallelism with them. What a cluster has begun it ends: the completions of a Job cannot be
 * changed, and nothing that runs is stopped to balance. What a lost cluster has not completed is given to others, as a further part.
 *
 * An Indexed Job is not divided: every part would count its indexes from 0, and two clusters would do the same piece of work. It runs in one
 * cluster, and ends there.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource } from "@kcp-ts/sdk";
import { type DecideInput, type Decision, decide } from "../decide.ts";
import { finishInPlace, planStopBeforeStart } from "../plan-exclusive.ts";
import { withMoveGuards } from "../plan-gently.ts";
import { earliest } from "../standing.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, specCount, statusCount, type Workload } from "../workload.ts";
import { decideJob } from "./decide-job.ts";
import { aggregateJobStatus } from "./fold-job.ts";
import {
  countsCompletions,
  desiredCompletions,
  expiryMs,
  finishedConditionOf,
} from "./job-facts.ts";

export const jobs = defineResource<Workload>({
  group: "batch",
  version: "v1",
  resource: "jobs",
  kind: "Job",
  namespaced: true,
});

export const jobStrategy: Strategy = {
  name: "jobs.batch",
  sharing: "divide",
  wholes: jobs,
  parts: jobs,
  accept: asWorkload,
  acceptPart: asWorkload,
  asked: (whole) => (finishedConditionOf(whole) === undefined ? desiredCompletions(whole) : 0),
  shareOf: (part) => ({ replicas: desiredCompletions(part) }),
  report: (part) => ({
    available: statusCount(part, "active"),
    isObserved: true,
    isStuck: finishedConditionOf(part) === "Failed",
  }),
  specFor: (whole, { replicas }) =>
    isDivisible(whole) ? dividedSpec(whole, replicas) : copySpec(whole),
  plan: (input) => withMoveGuards(input, (wish) => planStopBeforeStart(finishInPlace(wish))),
  fold: aggregateJobStatus,
  decide: (input) => expiring(input, isDivisible(input.parent) ? decideJob : decideIndivisible),
};

/** One that cannot be divided: what runs ends where it is; it is begun anew only when its cluster is lost or gone. */
function decideIndivisible(input: DecideInput): Decision {
  const strategy: Strategy = {
    ...input.strategy,
    sharing: "single",
    asked: (whole) => (finishedConditionOf(whole) === undefined ? 1 : 0),
    shareOf: () => ({ replicas: 1 }),
  };
  return decide({ ...input, strategy });
}

function expiring(input: DecideInput, decideIt: (input: DecideInput) => Decision): Decision {
  const decision = decideIt(input);
  const atMs = expiryMs(input.parent);
  if (atMs === undefined) return decision;
  const wakeAtMs = earliest(atMs, decision.wakeAtMs);
  return { ...decision, wakeAtMs, isExpired: atMs <= input.nowMs };
}

function isDivisible({ spec }: Workload): boolean {
  const { completionMode = "NonIndexed" } = spec as { completionMode?: unknown };
  return completionMode === "NonIndexed";
}

/** Less the time after which a cluster would delete it: what is deleted there is made anew, and would run again. */
function copySpec({ spec }: Workload): JsonObject {
  const { ttlSecondsAfterFinished: _, ...rest } = spec as { ttlSecondsAfterFinished?: number };
  return rest as JsonObject;
}

function dividedSpec(whole: Workload, units: number): JsonObject {
  const parallelism = specCount(whole, "parallelism", 1);
  if (!countsCompletions(whole)) return { ...copySpec(whole), parallelism: units };
  // A share of the workers, rounded up: a part without any would never end.
  const workers =
    parallelism === 0 ? 0 : Math.ceil((parallelism * units) / desiredCompletions(whole));
  return { ...copySpec(whole), completions: units, parallelism: workers };
}
