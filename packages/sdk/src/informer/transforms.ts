/**
 * Transforms of objects before they are cached. Managed fields are often half of an object, and
 * controllers rarely read them.
 */
import {
  clusterAnnotation,
  initialEventsEndAnnotation,
  type KubernetesObject,
  type MemberTree,
  type OwnerReference,
  type StringMap,
} from "../client/index.ts";

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Removes managed fields and kubectl's last-applied annotation: the right transform for most
 * controllers.
 */
export function withoutManagedFields<Object extends KubernetesObject>(object: Object): Object {
  const { managedFields, annotations, ...metadata } = object.metadata;
  if (managedFields === undefined && annotations?.[lastAppliedAnnotation] === undefined) {
    return object;
  }
  const { [lastAppliedAnnotation]: _, ...kept } = annotations ?? {};
  return {
    ...object,
    metadata: { ...metadata, ...(annotations === undefined ? {} : { annotations: kept }) },
  };
}

/** The metadata that controllers read, in few bytes: every object has the same shape. */
export interface SlimMetadata {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string | undefined;
    readonly uid: string | undefined;
    readonly resourceVersion: string | undefined;
    readonly labels: StringMap | undefined;
    readonly ownerReferences: readonly OwnerReference[] | undefined;
    readonly finalizers: readonly string[] | undefined;
    readonly deletionTimestamp: string | undefined;
  };
}

/**
 * Keeps names, versions, labels, owners and finalizers; removes annotations, managed fields, spec
 * and status.
 */
export function metadataOnly({ metadata }: KubernetesObject): SlimMetadata {
  const { name, namespace, uid, resourceVersion } = metadata;
  const { labels, ownerReferences, finalizers, deletionTimestamp } = metadata;
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      labels,
      ownerReferences,
      finalizers,
      deletionTimestamp,
    },
  };
}

/**
 * Whether the transform's result is known to survive JSON: true without a transform, and for the
 * transforms of this file.
 */
export function isJsonSafe(transform: unknown): boolean {
  return (
    transform === undefined || transform === withoutManagedFields || transform === metadataOnly
  );
}

/** All members that `metadataOnly` and an informer read. */
const slimMembers: MemberTree = {
  metadata: {
    name: true,
    namespace: true,
    uid: true,
    resourceVersion: true,
    labels: true,
    ownerReferences: true,
    finalizers: true,
    deletionTimestamp: true,
    annotations: { [clusterAnnotation]: true, [initialEventsEndAnnotation]: true },
  },
};

/** The members that a transform reads; undefined if unknown. */
export function membersFor(transform: unknown): MemberTree | undefined {
  return transform === metadataOnly ? slimMembers : undefined;
}
