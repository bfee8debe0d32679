/** From the request line to what is asked for and where: paths of workspaces are looked up, and mounts of our own workspaces followed. */
import type { Exchange } from "./exchange.ts";
import { header } from "./request/api-request.ts";
import type { RequestScope } from "./request/request-scope.ts";
import { parseTarget, withoutCluster } from "./routing/index.ts";
import type { Resolution, Tenancy } from "./tenancy/index.ts";

export interface RouteRooms {
  readonly tenancy: Pick<Tenancy, "resolve" | "ownTarget">;
}

/** The stage `route` of the pipeline. */
export function route(exchange: Exchange, { tenancy }: RouteRooms): Promise<undefined> | undefined {
  const { method, target, headers } = exchange.request;
  const scope = parseTarget({
    method,
    target,
    clusterHeader: header(headers, "x-kubernetes-cluster"),
  });
  return follow(exchange, tenancy, scope, { target, mountsLeft: mountsInARowMax });
}

interface Way {
  /** The request line as it leads on from here. */
  readonly target: string;
  readonly mountsLeft: number;
}

/** Mounts of workspaces of this server that lead to one another. */
const mountsInARowMax = 4;

function follow(
  exchange: Exchange,
  tenancy: RouteRooms["tenancy"],
  scope: RequestScope,
  way: Way,
): Promise<undefined> | undefined {
  exchange.scope = scope;
  if (scope.clusterPath === undefined) return undefined;
  const resolution = tenancy.resolve(scope.clusterPath);
  if (!(resolution instanceof Promise)) return resolved(exchange, tenancy, resolution, way);
  return resolution.then((found) => resolved(exchange, tenancy, found, way));
}

/** What a path leads to; that it leads nowhere is said when it is known who asks. */
function resolved(
  exchange: Exchange,
  tenancy: RouteRooms["tenancy"],
  resolution: Resolution,
  { target, mountsLeft }: Way,
): Promise<undefined> | undefined {
  const scope = exchange.scope as RequestScope;
  if (resolution.kind === "cluster") {
    exchange.scope = { ...scope, cluster: resolution.cluster };
    return undefined;
  }
  exchange.detour = resolution;
  if (resolution.kind !== "mount") return undefined;
  const own = tenancy.ownTarget(resolution.url);
  if (own === undefined) return undefined;
  // What is mounted is another workspace of ours: the request is made there, by who makes it.
  exchange.detour = mountsLeft === 0 ? { kind: "unavailable" } : undefined;
  if (mountsLeft === 0) return undefined;
  const next = own + withoutCluster(target);
  const there = parseTarget({
    method: exchange.request.method,
    target: next,
    clusterHeader: undefined,
  });
  return follow(exchange, tenancy, there, { target: next, mountsLeft: mountsLeft - 1 });
}
