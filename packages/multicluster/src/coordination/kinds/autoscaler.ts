/**
 * HorizontalPodAutoscalers: each cluster that has a part of the target has an autoscaler for that part, within a share of the bounds. What they wish for
 * together is the number of the whole target, as if one autoscaler had written it.
 *
 * In the clusters `spec.replicas` of the target's parts belongs to the autoscalers there (the sync policy leaves it to them). While the target moves, or a
 * cluster is lost, the lower bound is what the part is to have: otherwise what replaces would wait for load that is still elsewhere. While it moves, what
 * they wish for says nothing: part of it is there twice.
 *
 * Deployments only: an autoscaler in each cluster would give the same ordinals of a StatefulSet to several.
 */

import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Client, defineResource, findCondition, stringMember } from "@kcp-ts/sdk";
import { assignedCluster, ownedByLabel } from "../../api/index.ts";
import {
  type DecideInput,
  type Decision,
  type EvaluatedCluster,
  evaluateClusters,
} from "../decide.ts";
import { asDeployment, deployments, replicasOf } from "../deployment.ts";
import { distribute, weightMax } from "../distribute.ts";
import {
  aggregatedConditions,
  type CopyStatus,
  observedGenerationOf,
  reachableCopies,
  type ScheduledResult,
  scheduledCondition,
  sumStatusFields,
  unlessEqual,
} from "../fold-parts.ts";
import {
  clusterCopyName,
  isCopyOf,
  isUnassigned,
  newClusterCopy,
  ownerLabelValue,
  updatedClusterCopy,
} from "../part.ts";
import { planDuplicated } from "../plan-copies.ts";
import { withoutMoveRecords } from "../plan-moves.ts";
import { earliest } from "../standing.ts";
import type { Strategy } from "../strategy.ts";
import { syncedAnnotation } from "../synced.ts";
import {
  asWorkload,
  conditionsOf,
  isObserved,
  specCount,
  statusCount,
  statusText,
  type Workload,
} from "../workload.ts";

export const autoscalers = defineResource<Workload>({
  group: "autoscaling",
  version: "v2",
  resource: "horizontalpodautoscalers",
  kind: "HorizontalPodAutoscaler",
  namespaced: true,
});

export const autoscalerStrategy: Strategy = {
  name: "horizontalpodautoscalers.autoscaling",
  sharing: "divide",
  wholes: autoscalers,
  parts: autoscalers,
  accept: asWorkload,
  acceptPart: asWorkload,
  asked: (whole) => specCount(whole, "maxReplicas", 1),
  shareOf: (part) => ({
    replicas: specCount(part, "maxReplicas", 1),
    start: specCount(part, "minReplicas", 1),
  }),
  report: (part) => ({ available: 1, isObserved: isCurrent(part), isStuck: false }),
  specFor(whole, { replicas, start = 1 }, cluster) {
    const { scaleTargetRef } = whole.spec as { scaleTargetRef?: JsonObject };
    const name = clusterCopyName(targetName(whole) ?? "", cluster);
    return {
      ...whole.spec,
      scaleTargetRef: { ...scaleTargetRef, name },
      minReplicas: start,
      maxReplicas: replicas,
    };
  },
  plan: planDuplicated,
  decide: decideAutoscaler,
  fold: aggregateAutoscalerStatus,
  relations: { kinds: [deployments], read: readTarget },
};

/** Undefined for what is no Deployment. */
function targetName({ spec }: Workload): string | undefined {
  const { scaleTargetRef } = spec as {
    scaleTargetRef?: { apiVersion?: unknown; kind?: unknown; name?: unknown };
  };
  const { apiVersion = "apps/v1", kind, name } = scaleTargetRef ?? {};
  const isDeployment = kind === deployments.kind && /^apps\//.test(String(apiVersion));
  return isDeployment && typeof name === "string" ? name : undefined;
}

/** The target first, then its parts; nothing when it is not there. */
async function readTarget(
  client: Client,
  whole: Workload,
  signal: AbortSignal,
): Promise<readonly Workload[]> {
  const name = targetName(whole);
  if (name === undefined) return [];
  const { namespace } = whole.metadata;
  const resource = client.resource(deployments);
  const target = await resource.find({ namespace, name }, { signal });
  if (target === undefined || !isUnassigned(target)) return [];
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const { items } = await resource.list({ namespace, labelSelector, signal });
  return [target, ...items.filter((part) => isCopyOf(part, target))].flatMap(
    (one) => asDeployment(one) ?? [],
  );
}

interface MinMaxReplicas {
  readonly min: number;
  readonly max: number;
}

export function decideAutoscaler(input: DecideInput): Decision {
  const { strategy, parent, parts, related = [], nowMs } = input;
  const [target, ...targetParts] = related;
  const { places, assessment } = evaluateClusters(input);
  const standingOf = (cluster: string) =>
    places.find(({ name }) => name === cluster)?.judgement.standing ?? "gone";
  const scaled = new Map(targetParts.map((part) => [clusterOf(part), part]));
  const isMoving =
    findCondition(target === undefined ? [] : conditionsOf(target), scheduledCondition)?.reason ===
    "Moving";
  const isLost = [...scaled.keys()].some((cluster) => standingOf(cluster) === "lost");
  const bounds = minMaxReplicasFor(
    parent,
    [...scaled.values()].filter((part) => standingOf(clusterOf(part)) !== "lost"),
    isMoving || isLost,
  );
  const creations: Decision["creations"][number][] = [];
  const updates: Workload[] = [];
  const removals: Workload[] = [];
  for (const [cluster, { min, max }] of bounds) {
    const present = parts.find((part) => clusterOf(part) === cluster);
    const share = { replicas: max, start: min };
    const wish = { strategy, parent, cluster, share, askedReplicas: strategy.asked(parent) };
    if (present === undefined) {
      if (!input.takenNames.has(clusterCopyName(parent.metadata.name, cluster)))
        creations.push(newClusterCopy(wish));
      continue;
    }
    if (present.metadata.deletionTimestamp !== undefined) continue;
    const adjusted = updatedClusterCopy(present, wish);
    if (adjusted !== present) updates.push(adjusted);
  }
  for (const part of parts) {
    // Where the target is lost, its autoscaler is left alone with it.
    if (!scaled.has(clusterOf(part)) && part.metadata.deletionTimestamp === undefined) {
      removals.push(part);
    }
  }
  const folded = parts.map((object) => autoscalerCopyStatus(object, standingOf(clusterOf(object))));
  const verdict = scheduledResultFor(parent, target, bounds);
  const status = strategy.fold({
    strategy,
    parent,
    parts: folded,
    verdict,
    isWriting: creations.length + updates.length + removals.length > 0,
    nowMs,
  });
  return {
    creations,
    updates,
    cuts: [],
    removals,
    lost: [],
    status,
    happenings: [],
    places,
    plan: {
      next: new Map(),
      goal: new Map([...bounds].map(([name, { max }]) => [name, max])),
      unplaced: 0,
      surplus: 0,
      ...withoutMoveRecords,
    },
    assessment,
    wakeAtMs: earliest(...places.map(({ judgement }: EvaluatedCluster) => judgement.untilMs)),
    ...(isMoving ? {} : scaleOf({ parent, target, scaled, folded, mayShrink: !isLost })),
  };
}

/** At least one each: an autoscaler that may go down to none stays there. */
export function minMaxReplicasFor(
  parent: Workload,
  targetParts: readonly Workload[],
  isHolding: boolean,
): ReadonlyMap<string, MinMaxReplicas> {
  const shares = targetParts.map((part) => ({
    name: clusterOf(part),
    ready: true,
    weight: Math.min(weightMax, Math.max(1, replicasOf(part))),
    current: 0,
  }));
  const mins = distribute(specCount(parent, "minReplicas", 1), shares);
  const maxs = distribute(specCount(parent, "maxReplicas", 1), shares);
  return new Map(
    targetParts.map((part): [string, MinMaxReplicas] => {
      const name = clusterOf(part);
      const held = isHolding ? replicasOf(part) : 0;
      const min = Math.max(1, mins.get(name) ?? 0, held);
      return [name, { min, max: Math.max(min, maxs.get(name) ?? 0) }];
    }),
  );
}

interface ScaleInput {
  readonly parent: Workload;
  readonly target: Workload | undefined;
  readonly scaled: ReadonlyMap<string, Workload>;
  readonly folded: readonly CopyStatus[];
  readonly mayShrink: boolean;
}

/** What the autoscalers wish for together. One that has not said anything yet wishes for what is there. */
function scaleOf({
  parent,
  target,
  scaled,
  folded,
  mayShrink,
}: ScaleInput): Pick<Decision, "scale"> {
  // None at all means that scaling is switched off.
  if (target === undefined || replicasOf(target) === 0 || folded.length === 0) return {};
  let wished = 0;
  for (const { cluster, object, isKnown } of folded) {
    const part = scaled.get(cluster);
    if (!isKnown || part === undefined) continue;
    const desired = isCurrent(object) ? statusCount(object, "desiredReplicas") : 0;
    wished += desired > 0 ? desired : replicasOf(part);
  }
  const present = replicasOf(target);
  const min = specCount(parent, "minReplicas", 1);
  const bounded = Math.max(min, Math.min(specCount(parent, "maxReplicas", 1), wished));
  const replicas = mayShrink ? bounded : Math.max(present, bounded);
  if (replicas === present || wished === 0) return {};
  return { scale: { name: target.metadata.name, replicas } };
}

function autoscalerCopyStatus(object: Workload, standing: string): CopyStatus {
  const cluster = clusterOf(object);
  return {
    cluster,
    object,
    isKnown: standing !== "lost" && standing !== "gone",
    isLeftAlone: object.metadata.deletionTimestamp !== undefined,
    trouble: stringMember(object.metadata.annotations, syncedAnnotation(cluster)),
  };
}

function scheduledResultFor(
  parent: Workload,
  target: Workload | undefined,
  bounds: ReadonlyMap<string, MinMaxReplicas>,
): ScheduledResult {
  const said = (isPlaced: boolean, reason: string, message: string): ScheduledResult => ({
    isPlaced,
    isBlocked: !isPlaced,
    reason,
    message,
  });
  if (targetName(parent) === undefined) {
    const message = "only Deployments are scaled over clusters; name one in scaleTargetRef";
    return said(false, "UnsupportedTarget", message);
  }
  if (target === undefined) {
    const message = `there is no Deployment ${targetName(parent)} that is spread over clusters`;
    return said(false, "TargetNotFound", message);
  }
  const shares = [...bounds].sort().map(([name, { min, max }]) => `${name} ${min} to ${max}`);
  if (shares.length === 0) {
    return said(false, "TargetNotPlaced", `Deployment ${target.metadata.name} is in no cluster`);
  }
  return said(true, "Split", shares.join(", "));
}

function aggregateAutoscalerStatus(input: Parameters<Strategy["fold"]>[0]): object {
  const known = reachableCopies(input);
  const times = known.flatMap(({ object }) => statusText(object, "lastScaleTime") ?? []);
  const [last] = times.sort().reverse();
  return unlessEqual(input.parent, {
    ...observedGenerationOf(input, known),
    ...sumStatusFields(known, ["currentReplicas"], ["desiredReplicas"]),
    ...(last === undefined ? {} : { lastScaleTime: last }),
    conditions: aggregatedConditions(input, known),
  });
}

/** Not all clusters say which generation they speak of. */
function isCurrent(part: Workload): boolean {
  const isSaid = "observedGeneration" in (part.status ?? {});
  return isSaid ? isObserved(part) : part.status !== undefined;
}

function clusterOf({ metadata }: Workload): string {
  return assignedCluster(metadata.labels) ?? "";
}
