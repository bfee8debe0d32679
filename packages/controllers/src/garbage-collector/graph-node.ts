/**
 * A node of the garbage collector's graph: an object that has owners, or waits for its dependents.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type {
  KubernetesObject,
  ObjectKey,
  ObjectMeta,
  OwnerReference,
  Resource,
} from "@kcp-ts/sdk";
import type { StringPool } from "./string-pool.ts";

/** Shared by all nodes of a resource, so that it identifies them. */
export interface CollectedResource extends Resource {
  /**
   * Each cluster defines the resource for itself: kind and version here have no meaning, and are
   * discovered in the object's cluster.
   */
  readonly isCustom?: boolean;
}

export interface GraphNode {
  readonly cluster: ClusterName;
  readonly resource: CollectedResource;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /**
   * The precondition of every write that follows from this state: if the object has changed, the
   * write is rejected.
   */
  readonly resourceVersion: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly isDeleting: boolean;
}

/** The dependents are to be orphaned. */
export const orphanFinalizer = "orphan";
/** The dependents are to be deleted first. */
export const foregroundFinalizer = "foregroundDeletion";

/** Tenants write the uids of owner references: a uid has no meaning outside of its own cluster. */
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

/** The object is being deleted, and is removed only after the dependents that block it. */
export function isDeletingDependents({ isDeleting, finalizers }: GraphNode): boolean {
  return isDeleting && finalizers.includes(foregroundFinalizer);
}

export function isOrphaning({ isDeleting, finalizers }: GraphNode): boolean {
  return isDeleting && finalizers.includes(orphanFinalizer);
}

export function isBlocking(dependent: GraphNode, ownerUid: string): boolean {
  return dependent.owners.some((one) => one.uid === ownerUid && one.blockOwnerDeletion === true);
}
