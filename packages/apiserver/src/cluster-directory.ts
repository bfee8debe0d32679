/**
 * What the server asks about logical clusters: where a request leads, whether a cluster may be
 * entered, what it serves and how much it may hold. A server without workspaces has an open
 * directory: every name is a cluster, and roles alone say who may do what in it.
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
  /** What the clusters serve. */
  readonly catalog: Catalog & CollectionSource;
  /** Where a request leads that names its cluster by a path. */
  resolve(
    scope: RequestScope,
    request: Pick<ApiRequest, "method" | "target">,
  ): MaybePromise<RequestScope | Detour>;
  /** Throws a StatusError where a cluster may not be entered by anybody. */
  enter(cluster: ClusterName, attributes: Attributes): MaybePromise<void>;
  /** For requests that are no reads and writes of objects, though they look like it. */
  detourOf(scope: RequestScope): Detour | undefined;
  /**
   * False when nobody has put anything there, as far as the hub has come: then it need not be read.
   */
  mayHave(cluster: ClusterName, collection: ResourceKey): boolean;
  /** Whose rules hold for writes of a resource. */
  ownerOf(cluster: ClusterName, group: string, resource: string): ClusterName;
  /** How many objects a cluster is said to have room for; undefined when nothing is said of it. */
  objectLimitOf(cluster: ClusterName): MaybePromise<number | undefined>;
  /** A cluster that is not ready yet is not limited. */
  isBootstrapping(cluster: ClusterName): MaybePromise<boolean>;
  /** Objects that do not count. Without a name: kinds of which none counts. */
  isUncounted(kind: CountedKind, name?: string): boolean;
}

export interface CountedKind {
  readonly group: string;
  readonly resource: string;
}

/** A request that is answered in another way than by the objects of a logical cluster. */
export interface Detour {
  readonly kind: "detour";
  /** Throws a StatusError for users who may not take it. */
  authorize(request: DetourRequest): Promise<void>;
  serve(request: DetourRequest): MaybePromise<ApiResponse>;
}

export interface DetourRequest {
  readonly request: ApiRequest;
  readonly scope: RequestScope;
  readonly user: UserInfo;
  readonly attributes: Attributes;
  readonly signal: AbortSignal;
  /** Has a decision of authorization written down, where requests are audited. */
  note(decision: { readonly allowed: boolean; readonly reason: string }): void;
}

/** Paths lead nowhere where there is no tree of workspaces. */
const nowhere: Detour = {
  kind: "detour",
  async authorize() {
    throw statusError.pathNotFound();
  },
  serve() {
    throw statusError.pathNotFound();
  },
};

export function openDirectory(catalog: Catalog & CollectionSource): ClusterDirectory {
  return {
    catalog,
    resolve: () => nowhere,
    enter: () => undefined,
    detourOf: () => undefined,
    mayHave: () => true,
    ownerOf: (cluster) => cluster,
    objectLimitOf: () => undefined,
    isBootstrapping: () => false,
    isUncounted: () => false,
  };
}
