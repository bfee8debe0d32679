/**
 * StatefulSets: each cluster has a range of the ordinals (`spec.ordinals.start`), and no ordinal is in two. In the clusters the parts are called as the
 * whole is (see the sync policy), so that `db-3` is `db-3` wherever it runs.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource } from "@kcp-ts/sdk";
import { replicasOf } from "../deployment.ts";
import { foldedConditions, knownParts, observed, sums, unlessSame } from "../fold-parts.ts";
import { planOrdinals } from "../plan-ordinals.ts";
import type { Strategy } from "../strategy.ts";
import {
  asWorkload,
  isCount,
  isObserved,
  statusCount,
  statusText,
  type Workload,
} from "../workload.ts";

export const statefulSets = defineResource<Workload>({
  group: "apps",
  version: "v1",
  resource: "statefulsets",
  kind: "StatefulSet",
  namespaced: true,
});

const counts = ["currentReplicas", "updatedReplicas"];
const always = ["replicas", "readyReplicas", "availableReplicas"];

export const statefulSetStrategy: Strategy = {
  name: "statefulsets.apps",
  sharing: "ordinal",
  wholes: statefulSets,
  parts: statefulSets,
  accept: asWorkload,
  acceptPart: asWorkload,
  asked: replicasOf,
  shareOf: (part) => ({ replicas: replicasOf(part), start: startOf(part) }),
  report: (part) => ({
    // Clusters that do not know minReadySeconds report what is ready, and no more.
    available: statusCount(
      part,
      "availableReplicas" in (part.status ?? {}) ? "availableReplicas" : "readyReplicas",
    ),
    running: statusCount(part, "replicas"),
    isObserved: isObserved(part),
    isStuck: false,
  }),
  specFor({ spec }, { replicas, start = 0 }) {
    const { ordinals: _, ...rest } = spec as { ordinals?: JsonObject };
    return { ...(rest as JsonObject), replicas, ...(start === 0 ? {} : { ordinals: { start } }) };
  },
  plan: (input, whole) => planOrdinals({ ...input, first: startOf(whole) }),
  fold(input) {
    const known = knownParts(input);
    return unlessSame(input.parent, {
      ...observed(input, known),
      ...sums(known, counts, always),
      ...revisions(known.map(({ object }) => object)),
      conditions: foldedConditions(input, known),
    });
  },
};

function startOf({ spec }: Workload): number {
  const { ordinals } = spec as { ordinals?: { start?: number } };
  return isCount(ordinals?.start) ? ordinals.start : 0;
}

/** A set is current when all its parts are: one that is behind speaks for all. */
function revisions(parts: readonly Workload[]): Record<string, string> {
  const update = parts.map((part) => statusText(part, "updateRevision")).find(Boolean);
  if (update === undefined) return {};
  const current = parts.map((part) => statusText(part, "currentRevision"));
  const behind = current.find((one) => one !== undefined && one !== update);
  return { updateRevision: update, currentRevision: behind ?? update };
}
