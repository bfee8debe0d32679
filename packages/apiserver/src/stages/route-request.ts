/** Parses the request line to a scope. A cluster path is resolved in the directory. */
import type { ClusterDirectory, UnresolvedTarget } from "../cluster-directory.ts";
import { header } from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import { parseRequestTarget } from "../routing/index.ts";
import type { ServiceViews } from "../service-views.ts";
import type { RequestContext } from "./request-context.ts";

export interface RouteDependencies {
  readonly directory: Pick<ClusterDirectory, "resolve">;
  readonly services: Pick<ServiceViews, "split">;
}

/** The stage `route` of the pipeline. */
export function route(
  context: RequestContext,
  { directory, services }: RouteDependencies,
): Promise<undefined> | undefined {
  const { request } = context;
  const { method, target, headers } = request;
  const clusterHeader = header(headers, "x-kubernetes-cluster");
  const scope = parseRequestTarget({ method, target, clusterHeader }, services.split);
  context.scope = scope;
  if (scope.clusterPath === undefined) return undefined;
  const found = directory.resolve(scope, request);
  if (!(found instanceof Promise)) return applyResolution(context, found);
  return found.then((destination) => applyResolution(context, destination));
}

/** An unresolved path is reported after authentication. */
function applyResolution(
  context: RequestContext,
  found: RequestScope | UnresolvedTarget,
): undefined {
  if (found.kind === "unresolved") context.unresolvedTarget = found;
  else context.scope = found;
}
