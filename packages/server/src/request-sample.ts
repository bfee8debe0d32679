/** One line and one sample per request. Bodies, tokens and queries never appear in either. */
import type { Clock } from "@kcp-ts/machinery/base";
import type { Exchange } from "./exchange.ts";
import type { ServerMetrics } from "./metrics/index.ts";
import type { ApiResponse } from "./request/api-request.ts";
import type { ServerLog } from "./server.ts";

export interface Observers {
  readonly clock: Clock;
  readonly metrics: ServerMetrics;
  readonly log: ServerLog;
}

export function observe(
  exchange: Exchange,
  response: ApiResponse,
  { clock, metrics, log }: Observers,
): void {
  const { scope, user, startedAt } = exchange;
  const ms = clock.monotonic() - startedAt;
  const resource = scope?.kind === "resource" ? scope : undefined;
  // A path or name that a stranger made up must not become a label: only answered resources are named.
  const isKnown = resource !== undefined && response.status !== 404;
  metrics.observe({
    verb: (scope?.verb ?? exchange.request.method).toUpperCase(),
    group: isKnown ? resource.group : "",
    version: isKnown ? resource.version : "",
    resource: isKnown ? resource.resource : "",
    subresource: isKnown ? resource.subresource : "",
    scope:
      resource === undefined
        ? ""
        : resource.name !== ""
          ? "resource"
          : resource.namespace !== ""
            ? "namespace"
            : "cluster",
    code: response.status,
    seconds: ms / 1000,
    isLongRunning: response.isWatch === true,
  });
  if (!log.isLevelEnabled("debug")) return;
  log.debug(
    {
      cluster: scope?.cluster,
      verb: scope?.verb,
      path: scope?.path,
      status: response.status,
      user: user.username,
      ms: Math.round(ms * 100) / 100,
      auditId: response.headers["audit-id"],
    },
    "request",
  );
}
