/** What to keep of an object before it is cached. Managed fields are often half of an object and read by nobody. */
import {
  clusterAnnotation,
  initialEventsEndAnnotation,
  type KubernetesObject,
  type MemberTree,
  type OwnerReference,
  type StringMap,
} from "../client/index.ts";

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** Without managed fields and kubectl's copy of the last apply: what most controllers want. */
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

/** The metadata that controllers look at, in few bytes: every object has the same shape. */
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

/** Names and versions, labels, owners, finalizers; no annotations, no managed fields, no spec, no status. */
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

/** Whether what a transform makes of an object is known to survive JSON: no transform does, and ours do. */
export function isJsonSafe(transform: unknown): boolean {
  return (
    transform === undefined || transform === withoutManagedFields || transform === metadataOnly
  );
}

/** All that `metadataOnly` and an informer look at. */
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

/** The members that a transform looks at; undefined if nobody knows. */
export function membersFor(transform: unknown): MemberTree | undefined {
  return transform === metadataOnly ? slimMembers : undefined;
}
