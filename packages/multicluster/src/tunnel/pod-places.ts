/**
 * Where a Pod of a logical cluster runs, by what is stored of it.
 *
 *     a copy of what was born in a cluster    its label says which SyncTarget, its annotation which Pod
 *     what is assigned to a cluster           its label says which SyncTarget; the Pod there says whence it came, and is recognized by that
 *     a whole                                 has parts, and those are assigned
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

/** The SyncTarget that a Pod is in: what its logical cluster calls it, and its uid at the time; undefined: the one of now. */
export interface PodLocation {
  readonly target: string;
  readonly uid: string | undefined;
}

export interface ResolvedPod {
  readonly where: PodLocation;
  /** In the cluster, as is the uid; of what was sent there, upstream. */
  readonly name: string;
  readonly uid: string;
  /** It was made here and sent there. */
  readonly isSent: boolean;
}

type Named = Pick<KubernetesObject, "metadata">;

/** Undefined for a whole, and for what nobody runs. */
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
  return { where: { target, uid: copy.target }, name, uid, isSent: false };
}

function downsyncedTo({ name, uid = "", labels }: Named["metadata"]): ResolvedPod | undefined {
  const [target] = [...assignedTargets(labels as StringMap | undefined)].sort();
  if (target === undefined || uid === "") return undefined;
  return { where: { target, uid: undefined }, name, uid, isSent: true };
}

/** The uid of the whole that it is a part of. */
export function workloadUidOf({ metadata }: Named): string | undefined {
  const labels = metadata.labels as StringMap | undefined;
  if (ownedByLabels.every((label) => stringMember(labels, label) === undefined)) return undefined;
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** While it moves, the one that serves; or that runs; or that stays. */
export function servingCopy(parts: readonly KubernetesObject[]): KubernetesObject | undefined {
  const rank = (pod: KubernetesObject) => {
    const { phase, conditions = [] } = ((pod as { status?: PodStatus }).status ?? {}) as PodStatus;
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    const isStaying = pod.metadata.deletionTimestamp === undefined;
    return (isReady ? 4 : 0) + (phase === "Running" ? 2 : 0) + (isStaying ? 1 : 0);
  };
  return [...parts].sort(
    (a, b) => rank(b) - rank(a) || (a.metadata.name < b.metadata.name ? -1 : 1),
  )[0];
}

interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}
