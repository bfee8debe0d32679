/** From the request line to what is asked for and where. A cluster that is named by a path is looked up in the directory. */
import type { ClusterDirectory, Detour } from "../cluster-directory.ts";
import { header } from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import { parseRequestTarget } from "../routing/index.ts";
import type { ServiceViews } from "../service-views.ts";
import type { Exchange } from "./exchange.ts";

export interface RouteDependencies {
  readonly directory: Pick<ClusterDirectory, "resolve">;
  readonly services: Pick<ServiceViews, "split">;
}

/** The stage `route` of the pipeline. */
export function route(
  exchange: Exchange,
  { directory, services }: RouteDependencies,
): Promise<undefined> | undefined {
  const { request } = exchange;
  const { method, target, headers } = request;
  const clusterHeader = header(headers, "x-kubernetes-cluster");
  const scope = parseRequestTarget({ method, target, clusterHeader }, services.split);
  exchange.scope = scope;
  if (scope.clusterPath === undefined) return undefined;
  const found = directory.resolve(scope, request);
  if (!(found instanceof Promise)) return applyResolution(exchange, found);
  return found.then((destination) => applyResolution(exchange, destination));
}

/** That a path leads nowhere is said when it is known who asks. */
function applyResolution(exchange: Exchange, found: RequestScope | Detour): undefined {
  if (found.kind === "detour") exchange.detour = found;
  else exchange.scope = found;
}
