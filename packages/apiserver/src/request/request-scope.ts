/**
 * What a request is about, read off its path: the logical cluster first, then the resource.
 *
 * A leaf: every room may import it, it imports none.
 */
import type { ClusterName, ClusterPath } from "@kcp-ts/machinery/names";

/** One logical cluster, or all of them for those who may. Never defaulted below routing. */
export type ClusterScope = ClusterName | "*";

export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection";

/** A view of what logical clusters have, under `/services/`. What it is about is known to the extension that serves it. */
export interface ServiceScope {
  readonly name: string;
}

export interface ResourceScope {
  readonly kind: "resource";
  readonly cluster: ClusterScope;
  /** Set as long as the cluster is known by a path only; `cluster` says nothing until it is resolved. */
  readonly clusterPath?: ClusterPath | undefined;
  /** True when the request names no cluster: `cluster` is what it means by that, which may depend on who asks. */
  readonly isClusterUnnamed?: boolean;
  /** Set when the request is to a view. */
  readonly service?: ServiceScope | undefined;
  /** The path behind the cluster prefix, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly verb: Verb;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty for cluster-scoped requests and for lists over all namespaces. */
  readonly namespace: string;
  /** Empty for collections. */
  readonly name: string;
}

export interface PathScope {
  readonly kind: "path";
  readonly cluster: ClusterScope;
  readonly clusterPath?: ClusterPath | undefined;
  readonly isClusterUnnamed?: boolean;
  readonly service?: ServiceScope | undefined;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The HTTP method in lower case, which is what authorization knows for paths. */
  readonly verb: string;
}

/** Stands where a path has yet to be resolved, and where it could not be. Nothing is ever stored under it. */
export const unresolvedCluster = "system:unresolved" as ClusterName;

export type RequestScope = ResourceScope | PathScope;
