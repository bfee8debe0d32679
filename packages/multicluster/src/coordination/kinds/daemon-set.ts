/** DaemonSets: one on the nodes of every cluster, so every cluster has all of it. */
import { defineResource } from "@kcp-ts/sdk";
import { controllerRevisionHistory } from "../controller-revisions.ts";
import {
  aggregatedConditions,
  observedGenerationOf,
  reachableCopies,
  sumStatusFields,
  unlessEqual,
  updatedCopies,
} from "../fold-parts.ts";
import { planDuplicated } from "../plan-copies.ts";
import { withMoveGuards } from "../plan-gently.ts";
import { daemonSetRollout } from "../rolling/set-forms.ts";
import type { Strategy } from "../strategy.ts";
import { asWorkload, isObserved, statusCount, type Workload } from "../workload.ts";

export const daemonSets = defineResource<Workload>({
  group: "apps",
  version: "v1",
  resource: "daemonsets",
  kind: "DaemonSet",
  namespaced: true,
});

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
  sharing: "duplicate",
  wholes: daemonSets,
  parts: daemonSets,
  accept: asWorkload,
  acceptPart: asWorkload,
  asked: () => 1,
  shareOf: () => ({ replicas: 1 }),
  report: (part) => ({
    available: Math.min(1, statusCount(part, "numberAvailable")),
    isObserved: isObserved(part),
    isStuck: false,
  }),
  specFor: ({ spec }) => spec,
  plan: (input) => withMoveGuards(input, planDuplicated),
  rolling: daemonSetRollout,
  history: controllerRevisionHistory(daemonSets),
  fold(input) {
    const known = reachableCopies(input);
    return unlessEqual(input.parent, {
      ...observedGenerationOf(input, known),
      ...sumStatusFields(known, sometimes, always),
      ...sumStatusFields(updatedCopies(known), updated),
      conditions: aggregatedConditions(input, known),
    });
  },
};
