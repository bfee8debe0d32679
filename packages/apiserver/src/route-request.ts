/** From the request line to what is asked for and where. A cluster that is named by a path is looked up in the directory. */
import type { ClusterDirectory, Detour } from "./cluster-directory.ts";
import type { Exchange } from "./exchange.ts";
import { header } from "./request/api-request.ts";
import type { RequestScope } from "./request/request-scope.ts";
import { parseTarget } from "./routing/index.ts";
import type { ServiceViews } from "./service-views.ts";

export interface RouteRooms {
  readonly directory: Pick<ClusterDirectory, "resolve">;
  readonly services: Pick<ServiceViews, "split">;
}

/** The stage `route` of the pipeline. */
export function route(
  exchange: Exchange,
  { directory, services }: RouteRooms,
): Promise<undefined> | undefined {
  const { request } = exchange;
  const { method, target, headers } = request;
  const clusterHeader = header(headers, "x-kubernetes-cluster");
  const scope = parseTarget({ method, target, clusterHeader }, services.split);
  exchange.scope = scope;
  if (scope.clusterPath === undefined) return undefined;
  const found = directory.resolve(scope, request);
  if (!(found instanceof Promise)) return resolved(exchange, found);
  return found.then((destination) => resolved(exchange, destination));
}

/** That a path leads nowhere is said when it is known who asks. */
function resolved(exchange: Exchange, found: RequestScope | Detour): undefined {
  if (found.kind === "detour") exchange.detour = found;
  else exchange.scope = found;
}
