/**
 * StatefulSets: each cluster has a range of the ordinals (`spec.ordinals.start`), and no ordinal is
 * in two clusters. In the clusters the copies have the name of the StatefulSet (see the sync
 * policy), so that `db-3` is `db-3` in every cluster.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { controllerRevisionHistory } from "../controller-revisions.ts";
import { type DecideInput, type Decision, decide } from "../decide.ts";
import { replicasOf } from "../deployment.ts";
import { withMoveGuards } from "../move-guards.ts";
import { claimTemplatesOf, ordinalVolumesOf, syncsClaims } from "../ordinal-volumes.ts";
import { requestedOrdinals } from "../placement-record.ts";
import type { PlanInput } from "../plan-moves.ts";
import { type OrdinalPlan, planOrdinals } from "../plan-ordinals.ts";
import { currentRevisionName } from "../revisions.ts";
import { statefulSetRollout, withOwnPartition } from "../rollout/set-rollouts.ts";
import {
  aggregatedConditions,
  type CopyStatus,
  observedGenerationOf,
  reachableCopies,
  sumStatusFields,
  unlessEqual,
  updatedCopies,
} from "../status-aggregation.ts";
import type { Strategy } from "../strategy.ts";
import {
  asWorkload,
  isCount,
  isObserved,
  statusCount,
  statusText,
  type Workload,
} from "../workload.ts";

export const statefulSets = defineResource<Workload>(kinds.statefulSets);

const persistentVolumeClaims = defineResource<Workload>(kinds.persistentVolumeClaims);

const counts = ["currentReplicas"];
const updatedCounts = ["updatedReplicas"];
const always = ["replicas", "readyReplicas", "availableReplicas"];

export const statefulSetStrategy: Strategy = {
  name: "statefulsets.apps",
  replicaScheduling: "Ordinal",
  workloads: statefulSets,
  copies: statefulSets,
  accept: asWorkload,
  acceptCopy: asWorkload,
  desiredReplicas: replicasOf,
  shareOf: (copy) => ({ replicas: replicasOf(copy), start: startOf(copy) }),
  statusReportOf: (copy) => ({
    // Clusters whose version lacks minReadySeconds report only readyReplicas.
    available: statusCount(
      copy,
      "availableReplicas" in (copy.status ?? {}) ? "availableReplicas" : "readyReplicas",
    ),
    running: statusCount(copy, "replicas"),
    isObserved: isObserved(copy),
    isStuck: false,
  }),
  specFor(workload, { replicas, start = 0 }) {
    const spec = withOwnPartition(workload.spec, start - startOf(workload), replicas);
    const { ordinals: _, ...rest } = withoutScaledClaims(spec) as { ordinals?: JsonObject };
    return { ...(rest as JsonObject), replicas, ...(start === 0 ? {} : { ordinals: { start } }) };
  },
  rollout: statefulSetRollout,
  plan: (input, workload) =>
    withMoveGuards(input, (wish) =>
      planOrdinals({ ...withOrdinals(wish), first: startOf(workload) }),
    ),
  decide: decideSet,
  revisions: controllerRevisionHistory(statefulSets),
  relatedObjects: {
    kinds: [persistentVolumeClaims],
    async read(client, workload, signal) {
      if (claimTemplatesOf(workload).length === 0) return [];
      const { namespace = "" } = workload.metadata;
      try {
        const { items } = await client.resource(persistentVolumeClaims).list({ namespace, signal });
        return items;
      } catch (error) {
        // A logical cluster into which no cluster has imported PersistentVolumeClaims has none.
        if (isStatusError(error, "NotFound")) return [];
        throw error;
      }
    },
  },
  aggregateStatus(input) {
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

/**
 * With volumeClaimTemplates, ordinals and claims move alternately: the record requests the claims,
 * and the claims report their migration.
 */
function decideSet(input: DecideInput): Decision {
  const { strategy, parent, related, targets } = input;
  const volumes = ordinalVolumesOf(parent, related, targets);
  if (volumes === undefined) return decide(input);
  let asks: OrdinalPlan["requestedOrdinals"];
  const ordinals = () => asks ?? stillRequested(input);
  const plan: Strategy["plan"] = (wish, workload) => {
    const planned = withMoveGuards(wish, (gentle) =>
      planOrdinals({ ...withOrdinals(gentle), first: startOf(workload), volumes }),
    );
    asks = planned.requestedOrdinals;
    return planned;
  };
  const managed = new Set(targets.filter(syncsClaims).map(({ name }) => name));
  const specFor: Strategy["specFor"] = (workload, share, cluster) => {
    const spec = strategy.specFor(workload, share, cluster);
    return managed.has(cluster) ? withoutOwnedClaims(spec) : spec;
  };
  return decide({ ...input, strategy: { ...strategy, plan, specFor, ordinals } });
}

/**
 * While nothing new can be requested: the previous requests, without clusters that are Unregistered
 * since. Claims do not move to such clusters.
 */
function stillRequested({
  record,
  targets,
}: DecideInput): NonNullable<OrdinalPlan["requestedOrdinals"]> {
  const registered = new Set(targets.map(({ name }) => name));
  return new Map([...requestedOrdinals(record)].filter(([cluster]) => registered.has(cluster)));
}

/**
 * Synced claims are deleted with the StatefulSet: a copy that is removed because its cluster is
 * drained deletes none.
 */
function withoutOwnedClaims(spec: JsonObject): JsonObject {
  const { persistentVolumeClaimRetentionPolicy: policy } = spec as {
    persistentVolumeClaimRetentionPolicy?: JsonObject;
  };
  if (policy === undefined || policy["whenDeleted"] !== "Delete") return spec;
  return { ...spec, persistentVolumeClaimRetentionPolicy: { ...policy, whenDeleted: "Retain" } };
}

/**
 * An ordinal that leaves a cluster takes its claims along: the cluster's StatefulSet controller
 * must not delete them.
 */
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
 * A set is at the current revision when all its copies are: one outdated copy decides for all.
 * Before the first copy has the newest template, the revision's name is the one in the workload's
 * history.
 */
function revisions(parent: Workload, known: readonly CopyStatus[]): Record<string, string> {
  const text = (field: string, copies: readonly CopyStatus[]) =>
    copies.map(({ object }) => statusText(object, field)).filter((one) => one !== undefined);
  const [newest] = text("updateRevision", updatedCopies(known));
  const [any] = text("updateRevision", known);
  const isOutdated = known.some((one) => one.isOutdated === true);
  const update = newest ?? (isOutdated ? currentRevisionName(parent) : any);
  if (update === undefined) return {};
  const behind = text("currentRevision", known).find((one) => one !== update);
  return { updateRevision: update, currentRevision: behind ?? update };
}
