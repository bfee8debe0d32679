/** Finishes every request: encodes its response, and notifies metrics, audit and flow control. */
import type { Audit } from "../audit/index.ts";
import { prettyPrint, statusResponse, toStatusError, wantsPretty } from "../content/index.ts";
import { type FlowControl, holdSlotWhileOpen, type WatchSlot } from "../flow-control/index.ts";
import { type ApiResponse, cancelBody, type MaybePromise } from "../request/api-request.ts";
import { finishAuditRecord } from "./audit-wiring.ts";
import { observeRequest, type RequestObservers } from "./observe-request.ts";
import type { RequestContext } from "./request-context.ts";

export interface FinishDependencies extends RequestObservers {
  /** Undefined without an audit policy. */
  readonly audit: Audit | undefined;
  /** Undefined without API Priority and Fairness. */
  readonly flowControl: FlowControl | undefined;
  readonly inFlight: InFlightRequests;
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
