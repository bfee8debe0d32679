/**
 * The keys of replicas: a part of the key space that no request names. Their identity is no
 * identity of an export, which is a hash, and their logical cluster is one of the system's; the
 * logical cluster of the original stands in place of a namespace.
 */
import { collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import {
  type Entry,
  namespacePrefix,
  objectKey,
  parseObjectKey,
  resourcePrefix,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import type { ClusterName } from "@kcp-ts/machinery/names";

const replicaIdentity = "replica";
const replicaCluster = "system:replicas" as ClusterName;

export function replicaCollection(definition: ResourceDefinition) {
  return { ...collectionKeyOf(definition), identity: replicaIdentity };
}

export function replicaPrefix(definition: ResourceDefinition): StorageKey {
  return resourcePrefix(replicaCollection(definition));
}

/** The replicas of one logical cluster's objects. */
export function replicaClusterPrefix(
  definition: ResourceDefinition,
  cluster: ClusterName,
): StorageKey {
  return namespacePrefix({
    ...replicaCollection(definition),
    cluster: replicaCluster,
    namespace: cluster,
  });
}

export function replicaKey(
  definition: ResourceDefinition,
  cluster: ClusterName,
  name: string,
): StorageKey {
  return objectKey({
    ...replicaCollection(definition),
    cluster: replicaCluster,
    namespace: cluster,
    name,
  });
}

/** The key that the original has on its shard. */
export function originalKey(definition: ResourceDefinition, key: StorageKey): StorageKey {
  const { namespace, name } = parseObjectKey(key);
  return objectKey({
    ...collectionKeyOf(definition),
    cluster: namespace as ClusterName,
    namespace: "",
    name,
  });
}

/** The entry as if the original were stored here: its logical cluster comes from its key. */
export function asOriginal(definition: ResourceDefinition, entry: Entry): Entry {
  return { ...entry, key: originalKey(definition, entry.key) };
}
