/**
 * ObjectKey: the identity of an object in caches, queues and reconciles: cluster, namespace and
 * name.
 *
 * The cluster is always part of the key: two tenants may each have a ConfigMap `default/app`.
 */
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import {
  clusterAnnotation,
  type KubernetesObject,
  stringMember,
  UnreadableObjectError,
} from "../client/index.ts";

export interface ObjectKey {
  readonly cluster: ClusterName;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/**
 * `cluster|namespace/name`: none of the three can contain the separators, so different keys have
 * different texts.
 */
export function formatKey({ cluster, namespace, name }: ObjectKey): string {
  return `${cluster}|${namespace}/${name}`;
}

export function parseKey(text: string): ObjectKey {
  const bar = text.indexOf("|");
  const slash = text.indexOf("/", bar);
  return {
    cluster: text.slice(0, bar) as ClusterName,
    namespace: text.slice(bar + 1, slash),
    name: text.slice(slash + 1),
  };
}

export function keyInCluster(cluster: ClusterName, { metadata }: KubernetesObject): ObjectKey {
  return { cluster, namespace: metadata.namespace ?? "", name: metadata.name };
}

/** Undefined for an object without a name, or, where all clusters are read, without a cluster. */
export function identify(
  object: KubernetesObject,
  scope: { readonly cluster: ClusterName } | "all-clusters",
): ObjectKey | undefined {
  const { name, namespace } = object.metadata;
  const cluster = scope === "all-clusters" ? clusterOf(object) : scope.cluster;
  if (cluster === undefined || typeof name !== "string" || name === "") return undefined;
  if (namespace !== undefined && typeof namespace !== "string") return undefined;
  return keyInCluster(cluster, object);
}

export function unidentifiedObjectError(object: KubernetesObject): UnreadableObjectError {
  const { namespace, name } = object.metadata;
  const what = clusterOf(object) === undefined ? "cluster" : "name";
  return new UnreadableObjectError(`object ${namespace}/${name} has no ${what}`);
}

/**
 * The logical cluster of an object according to the server; undefined when the annotation is
 * missing.
 */
export function clusterOf({ metadata }: KubernetesObject): ClusterName | undefined {
  const text = stringMember(metadata.annotations, clusterAnnotation);
  return text === undefined ? undefined : parseClusterName(text);
}
