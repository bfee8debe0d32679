/** An object as the garbage collector remembers it: only those that have owners, or wait for their dependents. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type {
  KubernetesObject,
  ObjectKey,
  ObjectMeta,
  OwnerReference,
  Resource,
} from "@kcp-ts/sdk";
import type { StringPool } from "./shared-parts.ts";

/** One for all nodes of a resource, so that they are told by it. */
export interface CollectedResource extends Resource {
  /** Each cluster has defined it for itself: kind and version here mean nothing, and are asked for in the object's cluster. */
  readonly isCustom?: boolean;
}

export interface GraphNode {
  readonly cluster: ClusterName;
  readonly resource: CollectedResource;
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
  { cluster, namespace, name }: ObjectKey,
  resource: CollectedResource,
  { metadata }: KubernetesObject,
  shared: StringPool,
): GraphNode {
  const { ownerReferences, finalizers } = metadata;
  return {
    cluster: shared.text(cluster),
    resource,
    namespace: shared.text(namespace),
    name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    owners: ownerReferences?.length ? shared.owners(ownerReferences) : noOwners,
    finalizers: finalizers?.length ? finalizers : noFinalizers,
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
