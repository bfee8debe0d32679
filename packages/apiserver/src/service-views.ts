/**
 * Views of what logical clusters have, at paths of their own below `/services/`: the same handlers
 * with another scope.
 */
import { statusError } from "@kcp-ts/machinery/status";
import type { Catalog } from "./registry/index.ts";
import type { MaybePromise } from "./request/api-request.ts";
import type { Attributes } from "./request/attributes.ts";
import type { RequestScope, ServiceScope } from "./request/request-scope.ts";
import type { UserInfo } from "./request/user.ts";
import type { SplitService } from "./routing/index.ts";

export interface ServiceViews {
  /** From a path to the view that it is of. */
  readonly split: SplitService;
  authorize(service: ServiceScope, attributes: Attributes): MaybePromise<ServiceDecision>;
  /** Where a request to a view is served. */
  scopeOf(scope: RequestScope): RequestScope;
  /** What a view serves. Undefined for what is served as in the logical cluster itself. */
  catalogOf(scope: RequestScope): Catalog | undefined;
}

export interface ServiceDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** Who the request is made as, where it is somebody else. */
  readonly actAs?: UserInfo;
  /** Whether what this user may do is still to be asked. */
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
