/** Predicates and indexes of Pods for controllers. */
import {
  apiVersionOf,
  type Indexers,
  type KubernetesObject,
  type OwnerReference,
  type Resource,
} from "@kcp-ts/sdk";
import type { Pod } from "./objects.ts";

/** Indexes objects by the uid of their controller owner. */
export const controlledBy = {
  controller: { values: (object: KubernetesObject) => controllerUid(object) },
} as const satisfies Indexers<KubernetesObject>;

function controllerUid(object: KubernetesObject): readonly string[] {
  const owner = controllerOf(object);
  return owner === undefined ? [] : [owner.uid];
}

export function controllerOf({ metadata }: KubernetesObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** The controller owner reference, with blockOwnerDeletion. */
export function ownedBy(owner: KubernetesObject, resource: Resource): OwnerReference {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function isTerminating({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether the Pod runs or will run: neither completed nor terminating. */
export function isActive(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase !== "Succeeded" && phase !== "Failed" && !isTerminating(pod);
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === "True";
}

/** Whether the Pod has been ready for at least minReadySeconds. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const ready = readyCondition(pod);
  if (ready?.status !== "True") return false;
  if (minReadySeconds === 0) return true;
  return Date.parse(ready.lastTransitionTime ?? "") + minReadySeconds * 1000 <= nowMs;
}

function readyCondition(pod: Pod) {
  return pod.status?.conditions?.find(({ type }) => type === "Ready");
}
