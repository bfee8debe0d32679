/**
 * Storage keys: `/<group>/<resource>/<identity>/<cluster>/<namespace>/<name>`.
 *
 * One prefix is a resource in all logical clusters, a longer one a tenant's part of it. Every part
 * is required: no code below routing defaults a cluster. Empty parts stand for the core group, for
 * no identity and for cluster-scoped objects. Parts never contain "/", so one tenant's prefix
 * cannot reach into another's.
 */
import { assert, type Brand } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";

/** An ASCII string; bytewise order is string order. */
export type StorageKey = Brand<string, "StorageKey">;

export interface ResourceKey {
  readonly group: string;
  readonly resource: string;
  /** Separates same-named types with different owners; empty for built-ins. */
  readonly identity: string;
}

export interface ObjectKey extends ResourceKey {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly name: string;
}

/** All objects of a resource in all logical clusters. */
export function resourcePrefix(key: ResourceKey): StorageKey {
  return `/${part(key.group)}/${part(key.resource)}/${part(key.identity)}/` as StorageKey;
}

/** All objects of a resource in one logical cluster. */
export function clusterPrefix(key: ResourceKey & { readonly cluster: ClusterName }): StorageKey {
  assert(key.cluster.length > 0, "a cluster prefix needs a cluster");
  return `${resourcePrefix(key)}${part(key.cluster)}/` as StorageKey;
}

/** All objects of a resource in one namespace of one logical cluster. */
export function namespacePrefix(key: Omit<ObjectKey, "name">): StorageKey {
  return `${clusterPrefix(key)}${part(key.namespace)}/` as StorageKey;
}

export function objectKey(key: ObjectKey): StorageKey {
  const { group, resource, identity, cluster, namespace, name } = key;
  assert(cluster.length > 0 && name.length > 0, "an object key needs a cluster and a name");
  const collection = `/${part(group)}/${part(resource)}/${part(identity)}/${part(cluster)}`;
  return `${collection}/${part(namespace)}/${part(name)}` as StorageKey;
}

/** The ending of the keys of all objects with a name. */
export function keyEnding(name: string): string {
  return `/${part(name)}`;
}

/** The logical cluster of an object, and the end of its name in the key. */
export function clusterOfKey(key: StorageKey): {
  readonly cluster: ClusterName;
  readonly end: number;
} {
  let start = 1;
  for (let parts = 0; parts < 3; parts++) {
    const slash = key.indexOf("/", start);
    assert(slash > 0, `not an object key: ${key}`);
    start = slash + 1;
  }
  const end = key.indexOf("/", start);
  assert(end > start, `not an object key: ${key}`);
  return { cluster: key.slice(start, end) as ClusterName, end };
}

/** The key of the same object in another logical cluster. */
export function keyInCluster(key: StorageKey, cluster: ClusterName): StorageKey {
  const { cluster: own, end } = clusterOfKey(key);
  return `${key.slice(0, end - own.length)}${part(cluster)}${key.slice(end)}` as StorageKey;
}

/** The resource of an object, or of a prefix that has all of it. */
export function parseResourceKey(prefix: StorageKey): ResourceKey {
  const [, group = "", resource = "", identity = ""] = prefix.split("/", 4);
  return { group: unpart(group), resource: unpart(resource), identity: unpart(identity) };
}

/** Parses the prefix of a resource, or of a part of it. */
export function parseCollectionKey(prefix: StorageKey): Pick<ObjectKey, "group" | "resource"> {
  const [, group = "", resource = ""] = prefix.split("/", 3);
  return { group: unpart(group), resource: unpart(resource) };
}

export function parseObjectKey(key: StorageKey): ObjectKey {
  const parts = key.split("/");
  assert(parts.length === 7 && parts[0] === "", `not an object key: ${key}`);
  const [, group, resource, identity, cluster, namespace, name] = parts as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  return {
    group,
    resource,
    identity,
    cluster: cluster as ClusterName,
    namespace: unpart(namespace),
    name: unpart(name),
  };
}

/**
 * Percent-encodes all characters except printable ASCII. Names that Kubernetes allows contain
 * neither "/" nor "%", so the encoding is unambiguous and nearly always the identity.
 */
function part(value: string): string {
  if (plainPart.test(value)) return value;
  assert(!value.includes("/"), `a key part must not contain a slash: ${value}`);
  return encodeURIComponent(value);
}

function unpart(value: string): string {
  return value.includes("%") ? decodeURIComponent(value) : value;
}

/** Printable ASCII except the percent sign and the slash. */
const plainPart = /^[!-$&-.0-~]*$/;
