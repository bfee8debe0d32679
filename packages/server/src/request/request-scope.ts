/**
 * What a request is about, read off its path: the logical cluster first, then the resource.
 *
 * A leaf: every room may import it, it imports none.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";

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

export interface ResourceScope {
  readonly kind: "resource";
  readonly cluster: ClusterScope;
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
  readonly path: string;
  readonly query: URLSearchParams;
  /** The HTTP method in lower case, which is what authorization knows for paths. */
  readonly verb: string;
}

export type RequestScope = ResourceScope | PathScope;
