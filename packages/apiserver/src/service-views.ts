/**
 * ServiceViews: views of the objects of logical clusters, at paths of their own below `/services/`,
 * served by the same handlers with another scope.
 */
import { statusError } from "@kcp-ts/machinery/status";
import type { Catalog } from "./registry/index.ts";
import type { Attributes } from "./request/attributes.ts";
import type { RequestScope, ServiceScope } from "./request/request-scope.ts";
import type { UserInfo } from "./request/user.ts";
import type { SplitService } from "./routing/index.ts";

export interface ServiceViews {
  /** Splits a path into the view and the path inside the view. */
  readonly split: SplitService;
  authorize(service: ServiceScope, attributes: Attributes): Promise<ServiceDecision>;
  /** The scope in which a request to a view is served. */
  scopeOf(scope: RequestScope): RequestScope;
  /**
   * The catalog of a view; undefined when the view serves the resources of the logical cluster
   * itself.
   */
  catalogOf(scope: RequestScope): Catalog | undefined;
}

export interface ServiceDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** The user that the request acts as, if another than the one that sent it. */
  readonly actAs?: UserInfo;
  /** Whether the authorizer must still authorize this user. */
  readonly isOpen?: boolean;
}

export const noViews: ServiceViews = {
  split: () => undefined,
  authorize() {
    throw statusError.pathNotFound();
  },
  scopeOf: (scope) => scope,
  catalogOf: () => undefined,
};
