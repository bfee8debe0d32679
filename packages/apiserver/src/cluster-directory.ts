/**
 * ClusterDirectory: what the server needs to know about logical clusters: the cluster that a path
 * names, whether users may access it, the APIs that it serves, and its object limit. A server
 * without workspaces has an open directory: every name is a cluster, and RBAC alone restricts
 * access to it.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { Catalog, CollectionSource } from "./registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "./request/api-request.ts";
import type { Attributes } from "./request/attributes.ts";
import type { RequestScope } from "./request/request-scope.ts";
import type { UserInfo } from "./request/user.ts";
import type { ResourceKey } from "./storage/index.ts";

export interface ClusterDirectory {
  /** The catalog of the APIs that the clusters serve. */
  readonly catalog: Catalog & CollectionSource;
  /** Resolves the path of a request to its logical cluster. */
  resolve(
    scope: RequestScope,
    request: Pick<ApiRequest, "method" | "target">,
  ): MaybePromise<RequestScope | UnresolvedTarget>;
  /**
   * Sends a request on to the server that has its cluster, before it is authenticated, or serves it
   * `here`. Absent where this server has all clusters.
   */
  readonly forward?:
    | ((
        request: ApiRequest,
        here: (request: ApiRequest) => MaybePromise<ApiResponse>,
      ) => MaybePromise<ApiResponse>)
    | undefined;
  /** Throws a StatusError when a cluster is closed to every user. */
  enter(cluster: ClusterName, attributes: Attributes): MaybePromise<void>;
  /** The target of requests that have the form of reads and writes of objects, but are none. */
  unresolvedTargetOf(scope: RequestScope): UnresolvedTarget | undefined;
  /**
   * False when the collection has no object, as of the hub's current revision: reading it is
   * unnecessary.
   */
  mayHave(cluster: ClusterName, collection: ResourceKey): boolean;
  /** The cluster whose rules apply to writes of a resource. */
  ownerOf(cluster: ClusterName, group: string, resource: string): ClusterName;
  /**
   * The maximum number of objects of a cluster; undefined when the cluster has no limit of its own.
   */
  objectLimitOf(cluster: ClusterName): Promise<number | undefined>;
  /** Object limits do not apply to a cluster that is still bootstrapping. */
  isBootstrapping(cluster: ClusterName): Promise<boolean>;
  /**
   * Whether an object is exempt from the object limit; without a name, whether all objects of the
   * kind are.
   */
  isUncounted(kind: CountedKind, name?: string): boolean;
}

export interface CountedKind {
  readonly group: string;
  readonly resource: string;
}

/** A request that is not served from the objects of a logical cluster. */
export interface UnresolvedTarget {
  readonly kind: "unresolved";
  /** Throws a StatusError for users without access. */
  authorize(request: UnresolvedTargetRequest): Promise<void>;
  serve(request: UnresolvedTargetRequest): Promise<ApiResponse>;
}

export interface UnresolvedTargetRequest {
  readonly request: ApiRequest;
  readonly scope: RequestScope;
  readonly user: UserInfo;
  readonly attributes: Attributes;
  readonly signal: AbortSignal;
  /** Records an authorization decision in the audit event of the request. */
  note(decision: { readonly allowed: boolean; readonly reason: string }): void;
}

/** The target of every path when there is no tree of workspaces. */
const nowhere: UnresolvedTarget = {
  kind: "unresolved",
  async authorize() {
    throw statusError.pathNotFound();
  },
  async serve() {
    throw statusError.pathNotFound();
  },
};

export function openDirectory(catalog: Catalog & CollectionSource): ClusterDirectory {
  return {
    catalog,
    resolve: () => nowhere,
    enter: () => undefined,
    unresolvedTargetOf: () => undefined,
    mayHave: () => true,
    ownerOf: (cluster) => cluster,
    objectLimitOf: async () => undefined,
    isBootstrapping: async () => false,
    isUncounted: () => false,
  };
}
