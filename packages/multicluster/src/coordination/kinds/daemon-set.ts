/** DaemonSets: one on the nodes of every cluster, so every cluster has all of it. */
import { defineResource } from "@kcp-ts/sdk";
import { setHistory } from "../controller-revisions.ts";
import {
  foldedConditions,
  knownParts,
  observed,
  sums,
  unlessSame,
  updatedParts,
} from "../fold-parts.ts";
import { planCopies } from "../plan-copies.ts";
import { planGently } from "../plan-gently.ts";
import { daemonSetForm } from "../rolling/set-forms.ts";
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
  plan: (input) => planGently(input, planCopies),
  rolling: daemonSetForm,
  history: setHistory(daemonSets),
  fold(input) {
    const known = knownParts(input);
    return unlessSame(input.parent, {
      ...observed(input, known),
      ...sums(known, sometimes, always),
      ...sums(updatedParts(known), updated),
      conditions: foldedConditions(input, known),
    });
  },
};
