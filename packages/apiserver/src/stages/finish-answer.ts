/** The end of every request: its answer as it is sent, and everybody told who counts. */
import type { Clock } from "@kcp-ts/machinery/base";
import type { Audit } from "../audit/index.ts";
import { prettyPrint, statusResponse, toStatusError, wantsPretty } from "../content/index.ts";
import { type FlowControl, holdSlotWhileOpen, type WatchSlot } from "../fairness/index.ts";
import { type ApiResponse, cancelBody, type MaybePromise } from "../request/api-request.ts";
import { type RequestScope, unresolvedCluster } from "../request/request-scope.ts";
import { mayEnterAll } from "../request/user.ts";
import { finishAuditRecord } from "./audit-trail.ts";
import type { Exchange } from "./exchange.ts";

export interface FinishDependencies {
  readonly clock: Clock;
  /** Undefined when nobody wants to know. */
  readonly audit: Audit | undefined;
  /** Undefined when every request may begin at once. */
  readonly fairness: FlowControl | undefined;
  /** Told of every request when its answer is ready. */
  readonly onAnswer: (exchange: Exchange, response: ApiResponse) => void;
  /** Told of errors that no stage meant to throw. */
  readonly onError: (error: unknown, exchange: Exchange) => void;
}

/** Whatever goes wrong here, there is an answer, everybody who counts requests is told of it once, and what the request held is given back. */
export function finishResponse(
  exchange: Exchange,
  made: ApiResponse,
  rooms: FinishDependencies,
): MaybePromise<ApiResponse> {
  const { audit, fairness } = rooms;
  let response = made;
  try {
    finishHeaders(exchange, made);
    if (wantsPretty(exchange.request)) response = prettyPrint(made);
  } catch (error) {
    response = unmade(error, exchange, made, rooms);
  }
  if (exchange.watchPlace !== undefined) {
    try {
      response = holdOrReleaseSlot(exchange, response, exchange.watchPlace);
    } catch (error) {
      response = unmade(error, exchange, made, rooms);
    }
  }
  if (exchange.flowSchema !== undefined && fairness !== undefined) {
    try {
      releaseSeat(exchange, response, fairness);
    } catch (error) {
      rooms.onError(error, exchange);
    }
  }
  return audit === undefined
    ? counted(exchange, response, rooms)
    : audited(exchange, response, audit, rooms);
}

async function audited(
  exchange: Exchange,
  response: ApiResponse,
  audit: Audit,
  rooms: FinishDependencies,
): Promise<ApiResponse> {
  let told: ApiResponse;
  try {
    told = await finishAuditRecord(exchange, response, audit, rooms.clock);
  } catch (error) {
    told = unmade(error, exchange, response, rooms);
  }
  return counted(exchange, told, rooms);
}

function unmade(
  error: unknown,
  exchange: Exchange,
  { body }: ApiResponse,
  rooms: FinishDependencies,
): ApiResponse {
  rooms.onError(error, exchange);
  cancelBody(body);
  return statusResponse(toStatusError(error));
}

function counted(
  exchange: Exchange,
  response: ApiResponse,
  rooms: FinishDependencies,
): ApiResponse {
  try {
    rooms.onAnswer(exchange, response);
  } catch (error) {
    rooms.onError(error, exchange);
  }
  return response;
}

function releaseSeat(exchange: Exchange, response: ApiResponse, fairness: FlowControl): void {
  const { cluster } = exchange.scope as RequestScope;
  if (exchange.tenantKey !== cluster && response.status < 300 && provesClusterExists(exchange))
    fairness.show(cluster);
  fairness.finish(exchange, response);
}

/** A watch that is refused, or whose answer has no body, needs no place. */
function holdOrReleaseSlot(
  exchange: Exchange,
  response: ApiResponse,
  place: WatchSlot,
): ApiResponse {
  if (response.isWatch === true && exchange.request.method !== "HEAD")
    return holdSlotWhileOpen(response, place, exchange.signal);
  place.leave();
  return response;
}

/**
 * Whether an answer without an error shows that the logical cluster exists. Those who may enter every cluster find lists of clusters that do
 * not exist merely empty.
 */
function provesClusterExists({ scope, user }: Exchange): boolean {
  return (
    scope?.kind === "resource" &&
    scope.cluster !== unresolvedCluster &&
    (scope.name !== "" || scope.verb === "create" || !mayEnterAll(user))
  );
}

// The headers that every answer carries, whoever made it.

/** All warnings together; beyond it each is cut short, as in Kubernetes. */
const warningRunesMax = 4096;
const warningCutRunes = 256;

export function finishHeaders({ auditId, warnings }: Exchange, response: ApiResponse): void {
  const { headers } = response;
  headers["audit-id"] = auditId;
  headers["cache-control"] ??= "no-cache, private";
  if (response.status === 401 || response.status === 403)
    headers["x-content-type-options"] = "nosniff";
  if (warnings.length > 0) headers["warning"] = formatWarnings(warnings);
}

export function formatWarnings(warnings: readonly string[]): string[] {
  const unique = [...new Set(warnings)].filter((text) => text !== "" && !controls.test(text));
  const total = unique.reduce((sum, text) => sum + [...text].length, 0);
  const cut = (text: string) =>
    total > warningRunesMax ? [...text].slice(0, warningCutRunes).join("") : text;
  return unique.slice(0, 100).map((text) => `299 - "${quoteHeader(cut(text))}"`);
}

/** As unicode.IsControl has them: a warning with one of these is not told. */
const controls = /\p{Cc}/u;

/** Header values are bytes: UTF-8 is passed through as Latin-1 characters. */
function quoteHeader(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return Buffer.from(escaped, "utf8").toString("latin1");
}
