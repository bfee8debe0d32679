/** What controllers ask about a Pod. */
import {
  apiVersionOf,
  type Indexers,
  type KubernetesObject,
  type OwnerReference,
  type Resource,
} from "@kcp-ts/sdk";
import type { Pod } from "./objects.ts";

/** Objects by the uid of the one owner that controls them. */
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

/** The reference that makes an object the owner's, and the owner's deletion wait for it. */
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

/** Runs or will run: neither over nor on its way out. */
export function isActive(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase !== "Succeeded" && phase !== "Failed" && !isTerminating(pod);
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === "True";
}

/** Ready for at least so long. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const ready = readyCondition(pod);
  if (ready?.status !== "True") return false;
  if (minReadySeconds === 0) return true;
  return Date.parse(ready.lastTransitionTime ?? "") + minReadySeconds * 1000 <= nowMs;
}

function readyCondition(pod: Pod) {
  return pod.status?.conditions?.find(({ type }) => type === "Ready");
}
