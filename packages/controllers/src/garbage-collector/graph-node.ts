/** An object as the garbage collector remembers it: only those that have owners, or wait for their dependents. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { KubernetesObject, ObjectMeta, OwnerReference, Resource } from "@kcp-ts/sdk";

export interface GraphNode {
  readonly cluster: ClusterName;
  readonly resource: Resource;
  /** Empty for objects without a namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Guards every write that follows from this state: if the object has moved on, the write is refused. */
  readonly resourceVersion: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly isDeleting: boolean;
}

/** Dependents are to be left behind. */
export const orphanFinalizer = "orphan";
/** Dependents are to go first. */
export const foregroundFinalizer = "foregroundDeletion";

/** UIDs in owner references are what tenants write: they mean nothing outside their own cluster. */
export function graphId(cluster: ClusterName, uid: string): string {
  return `${cluster}|${uid}`;
}

export function isRelevant({ metadata }: KubernetesObject): boolean {
  return (metadata.ownerReferences?.length ?? 0) > 0 || waits(metadata.finalizers);
}

function waits(finalizers: ObjectMeta["finalizers"]): boolean {
  return (
    finalizers !== undefined &&
    (finalizers.includes(orphanFinalizer) || finalizers.includes(foregroundFinalizer))
  );
}

export function graphNode(
  cluster: ClusterName,
  resource: Resource,
  { metadata }: KubernetesObject,
): GraphNode {
  return {
    cluster,
    resource,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    owners: metadata.ownerReferences ?? noOwners,
    finalizers: metadata.finalizers ?? noFinalizers,
    isDeleting: metadata.deletionTimestamp !== undefined,
  };
}

const noOwners: readonly OwnerReference[] = [];
const noFinalizers: readonly string[] = [];

/** Being deleted, and only gone when those dependents are that block it. */
export function isDeletingDependents({ isDeleting, finalizers }: GraphNode): boolean {
  return isDeleting && finalizers.includes(foregroundFinalizer);
}

export function isOrphaning({ isDeleting, finalizers }: GraphNode): boolean {
  return isDeleting && finalizers.includes(orphanFinalizer);
}

export function isBlocking(dependent: GraphNode, ownerUid: string): boolean {
  return dependent.owners.some((one) => one.uid === ownerUid && one.blockOwnerDeletion === true);
}
