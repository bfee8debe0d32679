/** Finishes every request: encodes its response, and notifies metrics, audit and flow control. */
import type { Clock } from "@kcp-ts/machinery/base";
import type { Audit } from "../audit/index.ts";
import { prettyPrint, statusResponse, toStatusError, wantsPretty } from "../content/index.ts";
import { type FlowControl, holdSlotWhileOpen, type WatchSlot } from "../flow-control/index.ts";
import { servedVerbs } from "../handlers/index.ts";
import type { RequestSample, ServerMetrics } from "../metrics/index.ts";
import {
  type ApiResponse,
  cancelBody,
  isObservable,
  type MaybePromise,
} from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import { anonymousUser } from "../request/user.ts";
import type { ServerLog } from "../server-log.ts";
import type { RequestTrace, Tracer } from "../tracing/index.ts";
import { finishAuditRecord } from "./audit-wiring.ts";
import type { RequestContext } from "./request-context.ts";

export interface FinishDependencies {
  readonly clock: Clock;
  readonly metrics: ServerMetrics;
  readonly log: ServerLog;
  /** Undefined without an audit policy. */
  readonly audit: Audit | undefined;
  /** Undefined without API Priority and Fairness. */
  readonly flowControl: FlowControl | undefined;
  readonly inFlight: InFlightRequests;
  /** Undefined when requests are not traced. */
  readonly tracer: Tracer | undefined;
  /** Called for unexpected errors, which no stage throws on purpose. */
  readonly onError: (error: unknown, exchange: RequestContext) => void;
}

/** The requests without a response; `onIdle` is called when there are none. */
export interface InFlightRequests {
  readOnly: number;
  mutating: number;
  onIdle: (() => void) | undefined;
}

/**
 * Always produces a response, reports the request exactly once, and releases everything that the
 * request holds.
 */
export function finishResponse(
  context: RequestContext,
  made: ApiResponse,
  dependencies: FinishDependencies,
): MaybePromise<ApiResponse> {
  const { audit, flowControl } = dependencies;
  let response = made;
  try {
    const { headers, status } = made;
    headers["audit-id"] = context.auditId;
    headers["cache-control"] ??= "no-cache, private";
    if (status === 401 || status === 403) headers["x-content-type-options"] = "nosniff";
    if (context.warnings.length > 0) headers["warning"] = formatWarnings(context.warnings);
    if (wantsPretty(context.request)) response = prettyPrint(made);
  } catch (error) {
    response = unmade(error, context, made, dependencies);
  }
  if (context.watchSlot !== undefined) {
    try {
      response = holdOrReleaseSlot(context, response, context.watchSlot);
    } catch (error) {
      response = unmade(error, context, made, dependencies);
    }
  }
  if (context.flowSchema !== undefined && flowControl !== undefined) {
    try {
      flowControl.finish(context, response);
    } catch (error) {
      dependencies.onError(error, context);
    }
  }
  return audit === undefined
    ? counted(context, response, dependencies)
    : audited(context, response, audit, dependencies);
}

async function audited(
  context: RequestContext,
  response: ApiResponse,
  audit: Audit,
  dependencies: FinishDependencies,
): Promise<ApiResponse> {
  let told: ApiResponse;
  try {
    told = await finishAuditRecord(context, response, audit, dependencies.clock);
  } catch (error) {
    told = unmade(error, context, response, dependencies);
  }
  return counted(context, told, dependencies);
}

function unmade(
  error: unknown,
  context: RequestContext,
  { body }: ApiResponse,
  dependencies: FinishDependencies,
): ApiResponse {
  dependencies.onError(error, context);
  cancelBody(body);
  return statusResponse(toStatusError(error));
}

function counted(
  context: RequestContext,
  response: ApiResponse,
  dependencies: FinishDependencies,
): ApiResponse {
  const { inFlight } = dependencies;
  inFlight[context.isWrite ? "mutating" : "readOnly"]--;
  if (inFlight.readOnly + inFlight.mutating === 0) inFlight.onIdle?.();
  try {
    observeRequest(context, response, dependencies);
  } catch (error) {
    dependencies.onError(error, context);
  }
  return response;
}

/** A watch that is rejected, or whose response has no body, needs no watch slot. */
function holdOrReleaseSlot(
  context: RequestContext,
  response: ApiResponse,
  place: WatchSlot,
): ApiResponse {
  if (response.isWatch === true && context.request.method !== "HEAD")
    return holdSlotWhileOpen(response, place, context.signal);
  place.release();
  return response;
}

/**
 * Records one log line and one metrics sample per request. Bodies, tokens and queries appear in
 * neither.
 */
function observeRequest(
  context: RequestContext,
  response: ApiResponse,
  { clock, metrics, log, tracer }: FinishDependencies,
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
    dryRun:
      scope !== undefined && context.isWrite && scope.query.size > 0 ? dryRunLabel(scope) : "",
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
  // Clusters that unauthenticated clients invent are not counted.
  if (isKnown) metrics.topTenants.record(resource.cluster);
  if (isKnown && sample.isLongRunning) metrics.topWatches.record(resource.cluster);
  // Flow control answers before the resource is looked up.
  if (resource !== undefined && sample.code === 429 && user.username !== anonymousUser.username)
    metrics.topThrottled.record(resource.cluster);
  metrics.observe(sample, body instanceof Uint8Array ? body.length : undefined);
  if (body !== undefined && !(body instanceof Uint8Array))
    observeStream(response, body, sample, metrics);
  if (context.trace !== undefined && tracer !== undefined)
    traceRequest(tracer, context.trace, { context, response, sample, ms });
  if (!log.isDebugEnabled) return;
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

/** Names that a client invented are in attributes, and in no name of a span. */
function traceRequest(
  tracer: Tracer,
  trace: RequestTrace,
  {
    context,
    response,
    sample,
    ms,
  }: {
    readonly context: RequestContext;
    readonly response: ApiResponse;
    readonly sample: RequestSample;
    readonly ms: number;
  },
): void {
  const { scope, user } = context;
  const { verb, resource, subresource, code } = sample;
  const kind = subresource === "" ? resource : `${resource}/${subresource}`;
  tracer.end(trace, {
    name: kind === "" ? verb : `${verb} ${kind}`,
    user,
    ms,
    isError: code >= 500,
    attributes: {
      "http.request.method": context.request.method,
      "http.response.status_code": code,
      "url.path": scope?.path ?? "",
      "kcp.cluster": scope?.cluster ?? "",
      "audit.id": String(response.headers["audit-id"]),
    },
  });
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

// Warning headers.

/** The limit of all warnings together; beyond it each is truncated, as in Kubernetes. */
const warningRunesMax = 4096;
const warningCutRunes = 256;

export function formatWarnings(warnings: readonly string[]): string[] {
  const unique = [...new Set(warnings)].filter((text) => text !== "" && !controls.test(text));
  const total = unique.reduce((sum, text) => sum + [...text].length, 0);
  const cut = (text: string) =>
    total > warningRunesMax ? [...text].slice(0, warningCutRunes).join("") : text;
  return unique.slice(0, 100).map((text) => `299 - "${quoteHeader(cut(text))}"`);
}

/** The class of unicode.IsControl: a warning with such a character is omitted. */
const controls = /\p{Cc}/u;

/** Header values are bytes: UTF-8 is passed through as Latin-1 characters. */
function quoteHeader(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return Buffer.from(escaped, "utf8").toString("latin1");
}
