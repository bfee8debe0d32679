/**
 * The scope of a request, parsed from its path: the logical cluster first, then the resource.
 *
 * A leaf: every folder may import it, it imports none.
 */
import type { ClusterName, ClusterPath } from "@kcp-ts/machinery/names";

/** One logical cluster, or all of them for users with access. Never defaulted below routing. */
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

/**
 * A view of logical clusters, under `/services/`. The extension that serves it knows its
 * parameters.
 */
export interface ServiceScope {
  readonly name: string;
}

export interface ResourceScope {
  readonly kind: "resource";
  readonly cluster: ClusterScope;
  /**
   * Set while the cluster is known by a path only; `cluster` is meaningless until it is resolved.
   */
  readonly clusterPath?: ClusterPath | undefined;
  /**
   * True when the request names no cluster: `cluster` is the default then, which may depend on the
   * user.
   */
  readonly isClusterImplicit?: boolean;
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
  readonly isClusterImplicit?: boolean;
  readonly service?: ServiceScope | undefined;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The HTTP method in lower case, which is the verb of non-resource requests in authorization. */
  readonly verb: string;
}

/**
 * The placeholder for a path that is not resolved yet, or could not be. No object is stored under
 * it.
 */
export const unresolvedCluster = "system:unresolved" as ClusterName;

export type RequestScope = ResourceScope | PathScope;
