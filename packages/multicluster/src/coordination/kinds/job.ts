/**
 * Jobs: completions are divided among clusters when the Job starts, and parallelism with them. A
 * cluster finishes the completions that it has started: the completions of a Job are immutable, and
 * nothing that runs is stopped for balance. The missing completions of an Unreachable cluster go to
 * other clusters, as an additional copy.
 *
 * An Indexed Job is not divided: every copy would count its indexes from 0, and two clusters would
 * do the same work. It runs in one cluster, and finishes there.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { earliest } from "../cluster-state.ts";
import { type DecideInput, type Decision, decide } from "../decide.ts";
import { dividedReplicas, singleRunningOnce } from "../stepper/capabilities.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, specCount, statusCount, type Workload } from "../workload.ts";
import { aggregateJobStatus } from "./aggregate-job-status.ts";
import { decideJob } from "./decide-job.ts";
import {
  countsCompletions,
  desiredCompletions,
  expiryMs,
  finishedConditionOf,
} from "./job-state.ts";

export const jobs = defineResource<Workload>(kinds.jobs);

export const jobStrategy: Strategy = {
  name: "jobs.batch",
  capabilities: dividedReplicas,
  workloads: jobs,
  copies: jobs,
  accept: asWorkload,
  acceptCopy: asWorkload,
  desiredReplicas: (workload) =>
    finishedConditionOf(workload) === undefined ? desiredCompletions(workload) : 0,
  shareOf: (copy) => ({ replicas: desiredCompletions(copy) }),
  statusReportOf: (copy) => ({
    available: statusCount(copy, "active"),
    isObserved: true,
    isStuck: finishedConditionOf(copy) === "Failed",
  }),
  specFor: (workload, { replicas }) =>
    isDivisible(workload) ? dividedSpec(workload, replicas) : copySpec(workload),
  aggregateStatus: aggregateJobStatus,
  decide: (input) => expiring(input, isDivisible(input.parent) ? decideJob : decideIndivisible),
};

/**
 * Decides about an indivisible Job: it finishes in its cluster, and starts anew only when that
 * cluster is Unreachable or Unregistered.
 */
function decideIndivisible(input: DecideInput): Decision {
  const strategy: Strategy = {
    ...input.strategy,
    capabilities: singleRunningOnce,
    desiredReplicas: (workload) => (finishedConditionOf(workload) === undefined ? 1 : 0),
    shareOf: () => ({ replicas: 1 }),
  };
  return decide({ ...input, strategy });
}

function expiring(input: DecideInput, decideIt: (input: DecideInput) => Decision): Decision {
  const decision = decideIt(input);
  const atMs = expiryMs(input.parent);
  if (atMs === undefined) return decision;
  const requeueAtMs = earliest(atMs, decision.requeueAtMs);
  return { ...decision, requeueAtMs, isExpired: atMs <= input.nowMs };
}

function isDivisible({ spec }: Workload): boolean {
  const { completionMode = "NonIndexed" } = spec as { completionMode?: unknown };
  return completionMode === "NonIndexed";
}

/**
 * The spec without ttlSecondsAfterFinished: a copy that a cluster deleted would be created again,
 * and run again.
 */
function copySpec({ spec }: Workload): JsonObject {
  const { ttlSecondsAfterFinished: _, ...rest } = spec as { ttlSecondsAfterFinished?: number };
  return rest as JsonObject;
}

function dividedSpec(workload: Workload, units: number): JsonObject {
  const parallelism = specCount(workload, "parallelism", 1);
  if (!countsCompletions(workload)) return { ...copySpec(workload), parallelism: units };
  // The copy's part of the parallelism, rounded up: a copy with parallelism 0 would never finish.
  const workers =
    parallelism === 0 ? 0 : Math.ceil((parallelism * units) / desiredCompletions(workload));
  return { ...copySpec(workload), completions: units, parallelism: workers };
}
