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
import { claimTemplatesOf, ordinalVolumesOf, syncsClaims } from "../ordinal-volumes.ts";
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
import { dividedOrdinals } from "../stepper/capabilities.ts";
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
  capabilities: dividedOrdinals,
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
  ordinalsOf: ({ parent, related, targets }) => ({
    first: startOf(parent),
    volumes: ordinalVolumesOf(parent, related, targets),
  }),
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

/** The claims of ordinals that move belong to the control plane, in clusters that sync claims. */
function decideSet(input: DecideInput): Decision {
  const { strategy, parent, related, targets } = input;
  if (claimTemplatesOf(parent).length === 0 || related === undefined) return decide(input);
  const managed = new Set(targets.filter(syncsClaims).map(({ name }) => name));
  const specFor: Strategy["specFor"] = (workload, share, cluster) => {
    const spec = strategy.specFor(workload, share, cluster);
    return managed.has(cluster) ? withoutOwnedClaims(spec) : spec;
  };
  return decide({ ...input, strategy: { ...strategy, specFor } });
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
