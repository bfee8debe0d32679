/** DaemonSets run on the nodes of every cluster, so every cluster has a complete copy. */
import { defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { controllerRevisionHistory } from "../controller-revisions.ts";
import { daemonSetRollout } from "../rollout/set-rollouts.ts";
import {
  aggregatedConditions,
  observedGenerationOf,
  reachableCopies,
  sumStatusFields,
  unlessEqual,
  updatedCopies,
} from "../status-aggregation.ts";
import { copyEverywhere } from "../stepper/capabilities.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, isObserved, statusCount, type Workload } from "../workload.ts";

export const daemonSets = defineResource<Workload>(kinds.daemonSets);

const always = [
  "currentNumberScheduled",
  "desiredNumberScheduled",
  "numberMisscheduled",
  "numberReady",
];
const sometimes = ["numberAvailable", "numberUnavailable"];
const updated = ["updatedNumberScheduled"];

export const daemonSetStrategy: Strategy = {
  name: "daemonsets.apps",
  capabilities: copyEverywhere,
  workloads: daemonSets,
  copies: daemonSets,
  accept: asWorkload,
  acceptCopy: asWorkload,
  desiredReplicas: () => 1,
  shareOf: () => ({ replicas: 1 }),
  statusReportOf: (copy) => ({
    available: Math.min(1, statusCount(copy, "numberAvailable")),
    isObserved: isObserved(copy),
    isStuck: false,
  }),
  specFor: ({ spec }) => spec,
  rollout: daemonSetRollout,
  revisions: controllerRevisionHistory(daemonSets),
  aggregateStatus(input) {
    const known = reachableCopies(input);
    return unlessEqual(input.parent, {
      ...observedGenerationOf(input, known),
      ...sumStatusFields(known, sometimes, always),
      ...sumStatusFields(updatedCopies(known), updated),
      conditions: aggregatedConditions(input, known),
    });
  },
};
