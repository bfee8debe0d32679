/**
 * The location of a Pod of a logical cluster, by its stored state.
 *
 *     an upsynced Pod       its label names the SyncTarget, its annotation the Pod in the cluster
 *     an assigned Pod       its label names the SyncTarget; the Pod there has an origin annotation
 *     an unassigned Pod     has per-cluster objects, which are assigned
 */
import type { KubernetesObject, StringMap } from "@kcp-ts/sdk";
import { stringMember } from "@kcp-ts/sdk";
import {
  assignedTargets,
  ownedByLabels,
  statesOf,
  stateUpsync,
  upsyncedFromAnnotation,
} from "../api/index.ts";
import { parseCopyOf } from "../syncer/index.ts";

/**
 * The SyncTarget of a Pod: its name in the Pod's logical cluster, and its uid at the time;
 * undefined: the current one.
 */
export interface PodLocation {
  readonly target: string;
  readonly uid: string | undefined;
}

export interface ResolvedPod {
  readonly location: PodLocation;
  /** The name in the cluster, like the uid; both upstream for a downsynced Pod. */
  readonly name: string;
  readonly uid: string;
  /** The Pod was created upstream and synced down. */
  readonly isDownsynced: boolean;
}

type Named = Pick<KubernetesObject, "metadata">;

/** Undefined for a Pod with per-cluster objects, and for an unassigned Pod. */
export function resolvePod({ metadata }: Named): ResolvedPod | undefined {
  const labels = metadata.labels as StringMap | undefined;
  const [target, another] = [...statesOf(labels)]
    .filter(([, state]) => state === stateUpsync)
    .map(([name]) => name);
  if (target === undefined) return downsyncedTo(metadata);
  const annotations = metadata.annotations as StringMap | undefined;
  const copy = parseCopyOf(stringMember(annotations, upsyncedFromAnnotation));
  if (another !== undefined || copy === undefined) return undefined;
  const { name = metadata.name, uid } = copy;
  return { location: { target, uid: copy.target }, name, uid, isDownsynced: false };
}

function downsyncedTo({ name, uid = "", labels }: Named["metadata"]): ResolvedPod | undefined {
  const [target] = [...assignedTargets(labels as StringMap | undefined)].sort();
  if (target === undefined || uid === "") return undefined;
  return { location: { target, uid: undefined }, name, uid, isDownsynced: true };
}

/** The uid of the workload that the per-cluster object belongs to. */
export function workloadUidOf({ metadata }: Named): string | undefined {
  const labels = metadata.labels as StringMap | undefined;
  if (ownedByLabels.every((label) => stringMember(labels, label) === undefined)) return undefined;
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** During a move, the copy that is ready; or that runs; or that stays. */
export function servingCopy(copies: readonly KubernetesObject[]): KubernetesObject | undefined {
  const rank = (pod: KubernetesObject) => {
    const { phase, conditions = [] } = ((pod as { status?: PodStatus }).status ?? {}) as PodStatus;
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    const isStaying = pod.metadata.deletionTimestamp === undefined;
    return (isReady ? 4 : 0) + (phase === "Running" ? 2 : 0) + (isStaying ? 1 : 0);
  };
  return [...copies].sort(
    (a, b) => rank(b) - rank(a) || (a.metadata.name < b.metadata.name ? -1 : 1),
  )[0];
}

interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}
