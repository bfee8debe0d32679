/**
 * Records one log line and one metrics sample per request. Bodies, tokens and queries appear in
 * neither.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { servedVerbs } from "../handlers/index.ts";
import type { RequestSample, ServerMetrics } from "../metrics/index.ts";
import { type ApiResponse, isObservable } from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import type { ServerLog } from "../server-log.ts";
import type { RequestContext } from "./request-context.ts";

export interface RequestObservers {
  readonly clock: Clock;
  readonly metrics: ServerMetrics;
  readonly log: ServerLog;
}

export function observeRequest(
  context: RequestContext,
  response: ApiResponse,
  { clock, metrics, log }: RequestObservers,
): void {
  const { scope, definition, user, impersonator, startedAt } = context;
  const ms = clock.monotonic() - startedAt;
  const verb = scope?.verb ?? context.request.method;
  const resource = scope?.kind === "resource" ? scope : undefined;
  // A resource name that a client invented must not become a label, for any response.
  const isKnown =
    resource !== undefined &&
    definition !== undefined &&
    (resource.subresource === "" || definition.subresources.has(resource.subresource));
  const sample: RequestSample = {
    // An HTTP method that a client invented must not become a label.
    verb: verbLabels.get(verb) ?? verbLabels.get(verb.toLowerCase()) ?? "OTHER",
    dryRun: scope !== undefined && context.isWrite ? dryRunLabel(scope) : "",
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
  };
  const { body } = response;
  metrics.observe(sample, body instanceof Uint8Array ? body.length : undefined);
  if (body !== undefined && !(body instanceof Uint8Array))
    observeStream(response, body, sample, metrics);
  if (!log.isLevelEnabled("debug")) return;
  log.debug(
    {
      cluster: scope?.cluster,
      verb: scope?.verb,
      path: scope?.path,
      status: response.status,
      user: user.username,
      ...(impersonator === undefined ? {} : { impersonator: impersonator.username }),
      ms: Math.round(ms * 100) / 100,
      auditId: response.headers["audit-id"],
    },
    "request",
  );
}

function observeStream(
  response: ApiResponse,
  body: AsyncIterable<Uint8Array>,
  sample: RequestSample,
  metrics: ServerMetrics,
): void {
  if (!sample.isLongRunning) response.onSent = (bytes) => metrics.observeSize(sample, bytes);
  else if (isObservable(body)) {
    const notes = metrics.longRunningObserverOf(sample);
    if (notes !== undefined) body.observe(notes);
  }
}

/** As in Kubernetes: an invalid value gets no label of its own. */
function dryRunLabel({ query }: RequestScope): string {
  if (!query.has("dryRun")) return "";
  return query.getAll("dryRun").every((value) => value === "All") ? "All" : "invalid";
}

const verbLabels = new Map(
  [...servedVerbs, "head", "post", "put", "options"].map((verb) => [verb, verb.toUpperCase()]),
);
