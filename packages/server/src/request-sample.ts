/** One line and one sample per request. Bodies, tokens and queries never appear in either. */
import type { Clock } from "@kcp-ts/machinery/base";
import { servedVerbs } from "./handlers/index.ts";
import type { ServerMetrics } from "./metrics/index.ts";
import type { Exchange } from "./pipeline.ts";
import type { Catalog } from "./registry/index.ts";
import type { ApiResponse } from "./request/api-request.ts";
import type { ResourceScope } from "./request/request-scope.ts";
import type { ServerLog } from "./server.ts";

export interface Observers {
  readonly clock: Clock;
  readonly metrics: ServerMetrics;
  readonly log: ServerLog;
  readonly catalog: Catalog;
}

export function observe(
  exchange: Exchange,
  response: ApiResponse,
  { clock, metrics, log, catalog }: Observers,
): void {
  const { scope, user, startedAt } = exchange;
  const ms = clock.monotonic() - startedAt;
  const resource = scope?.kind === "resource" ? scope : undefined;
  const isKnown = resource !== undefined && isServed(resource, catalog);
  metrics.observe({
    verb: verbLabel(scope?.verb ?? exchange.request.method),
    group: isKnown ? resource.group : "",
    version: isKnown ? resource.version : "",
    resource: isKnown ? resource.resource : "",
    subresource: isKnown ? resource.subresource : "",
    scope: !isKnown
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

/** A resource that a stranger made up must not become a label, whatever the answer was. */
function isServed(scope: ResourceScope, catalog: Catalog): boolean {
  const { cluster, group, version, resource, subresource } = scope;
  const definition = catalog.find(cluster, group, version, resource);
  return (
    definition !== undefined && (subresource === "" || definition.subresources.has(subresource))
  );
}

const verbLabels = new Set(
  [...servedVerbs, "head", "post", "put", "options"].map((verb) => verb.toUpperCase()),
);

/** Methods are made up as easily as paths. */
function verbLabel(verb: string): string {
  const label = verb.toUpperCase();
  return verbLabels.has(label) ? label : "OTHER";
}
