/**
 * StatefulSets: each cluster has a range of the ordinals (`spec.ordinals.start`), and no ordinal is in two. In the clusters the parts are called as the
 * whole is (see the sync policy), so that `db-3` is `db-3` wherever it runs.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { defineResource, stringMember } from "@kcp-ts/sdk";
import { requestedOrdinalsAnnotation } from "../../api/index.ts";
import { controllerRevisionHistory } from "../controller-revisions.ts";
import { type DecideInput, type Decision, decide } from "../decide.ts";
import { replicasOf } from "../deployment.ts";
import {
  aggregatedConditions,
  type CopyStatus,
  observedGenerationOf,
  reachableCopies,
  sumStatusFields,
  unlessEqual,
  updatedCopies,
} from "../fold-parts.ts";
import {
  claimTemplatesOf,
  formatRequestedOrdinals,
  ordinalVolumesOf,
  requestedOrdinals,
  syncsClaims,
} from "../ordinal-volumes.ts";
import { withMoveGuards } from "../plan-gently.ts";
import type { PlanInput } from "../plan-moves.ts";
import { type OrdinalPlan, planOrdinals } from "../plan-ordinals.ts";
import { currentRevisionName } from "../revisions.ts";
import { statefulSetRollout, withOwnPartition } from "../rolling/set-forms.ts";
import type { ClusterInfo } from "../standing.ts";
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

const persistentVolumeClaims = defineResource<Workload>({
  group: "",
  version: "v1",
  resource: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
});

const counts = ["currentReplicas"];
const updatedCounts = ["updatedReplicas"];
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
  specFor(whole, { replicas, start = 0 }) {
    const spec = withOwnPartition(whole.spec, start - startOf(whole), replicas);
    const { ordinals: _, ...rest } = withoutScaledClaims(spec) as { ordinals?: JsonObject };
    return { ...(rest as JsonObject), replicas, ...(start === 0 ? {} : { ordinals: { start } }) };
  },
  rolling: statefulSetRollout,
  plan: (input, whole) =>
    withMoveGuards(input, (wish) => planOrdinals({ ...withOrdinals(wish), first: startOf(whole) })),
  decide: decideSet,
  history: controllerRevisionHistory(statefulSets),
  relations: {
    kinds: [persistentVolumeClaims],
    async read(client, whole, signal) {
      if (claimTemplatesOf(whole).length === 0) return [];
      const { namespace = "" } = whole.metadata;
      try {
        const { items } = await client.resource(persistentVolumeClaims).list({ namespace, signal });
        return items;
      } catch (error) {
        // Where no cluster has brought claims, there are none.
        if (isStatusError(error, "NotFound")) return [];
        throw error;
      }
    },
  },
  fold(input) {
    const known = reachableCopies(input);
    return unlessEqual(input.parent, {
      ...observedGenerationOf(input, known),
      ...sumStatusFields(known, counts, always),
      ...sumStatusFields(updatedCopies(known), updatedCounts),
      ...revisions(input.parent, known),
      conditions: aggregatedConditions(input, known),
    });
  },
};

function withOrdinals(wish: PlanInput) {
  return { ...wish, unavailable: wish.budget?.unavailable };
}

/** With claims from templates, numbers and claims move in turns: what is asked for is written on the whole, and the claims say how far they are. */
function decideSet(input: DecideInput): Decision {
  const { strategy, parent, related, targets } = input;
  const volumes = ordinalVolumesOf(parent, related, targets);
  if (volumes === undefined) return decide(input);
  let asks: OrdinalPlan["asks"];
  const plan: Strategy["plan"] = (wish, whole) => {
    const planned = withMoveGuards(wish, (gentle) =>
      planOrdinals({ ...withOrdinals(gentle), first: startOf(whole), volumes }),
    );
    asks = planned.asks;
    return planned;
  };
  const managed = new Set(targets.filter(syncsClaims).map(({ name }) => name));
  const specFor: Strategy["specFor"] = (whole, share, cluster) => {
    const spec = strategy.specFor(whole, share, cluster);
    return managed.has(cluster) ? withoutOwnedClaims(spec) : spec;
  };
  const decision = decide({ ...input, strategy: { ...strategy, plan, specFor } });
  const text = formatRequestedOrdinals(asks ?? stillRequested(parent, targets));
  if (text === stringMember(parent.metadata.annotations, requestedOrdinalsAnnotation))
    return decision;
  const { annotations, obsolete = [] } = decision;
  if (text === undefined)
    return { ...decision, obsolete: [...obsolete, requestedOrdinalsAnnotation] };
  return { ...decision, annotations: { ...annotations, [requestedOrdinalsAnnotation]: text } };
}

/** While nothing new can be asked for: what was, less what was of clusters that have left since. Claims do not go to where nobody is. */
function stillRequested(
  parent: Workload,
  targets: readonly ClusterInfo[],
): NonNullable<OrdinalPlan["asks"]> {
  const registered = new Set(targets.map(({ name }) => name));
  return new Map([...requestedOrdinals(parent)].filter(([cluster]) => registered.has(cluster)));
}

/** Claims that are synced go when the whole does: a part that is removed because its cluster is emptied takes none along. */
function withoutOwnedClaims(spec: JsonObject): JsonObject {
  const { persistentVolumeClaimRetentionPolicy: policy } = spec as {
    persistentVolumeClaimRetentionPolicy?: JsonObject;
  };
  if (policy === undefined || policy["whenDeleted"] !== "Delete") return spec;
  return { ...spec, persistentVolumeClaimRetentionPolicy: { ...policy, whenDeleted: "Retain" } };
}

/** A number that leaves a cluster takes its claims along: who would delete them there is not to. */
function withoutScaledClaims(spec: JsonObject): JsonObject {
  const { persistentVolumeClaimRetentionPolicy: policy } = spec as {
    persistentVolumeClaimRetentionPolicy?: JsonObject;
  };
  if (policy === undefined || policy["whenScaled"] !== "Delete") return spec;
  return { ...spec, persistentVolumeClaimRetentionPolicy: { ...policy, whenScaled: "Retain" } };
}

function startOf({ spec }: Workload): number {
  const { ordinals } = spec as { ordinals?: { start?: number } };
  return isCount(ordinals?.start) ? ordinals.start : 0;
}

/**
 * A set is current when all its parts are: one that is behind speaks for all. Before the first of them has the newest template, that is known by the name that it has in
 * the history of the whole.
 */
function revisions(parent: Workload, known: readonly CopyStatus[]): Record<string, string> {
  const text = (field: string, parts: readonly CopyStatus[]) =>
    parts.map(({ object }) => statusText(object, field)).filter((one) => one !== undefined);
  const [newest] = text("updateRevision", updatedCopies(known));
  const [any] = text("updateRevision", known);
  const isBehind = known.some((one) => one.isBehind === true);
  const update = newest ?? (isBehind ? currentRevisionName(parent) : any);
  if (update === undefined) return {};
  const behind = text("currentRevision", known).find((one) => one !== update);
  return { updateRevision: update, currentRevision: behind ?? update };
}
