/**
 * Converts an error response to a StatusError.
 *
 * Servers respond with a Status; proxies in front of them respond with any content, so the reason
 * then follows from the HTTP status code.
 */
import { bounds, isBoundExceeded, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, JsonSyntaxError } from "@kcp-ts/machinery/json";
import { type Status, StatusError, type StatusReason } from "@kcp-ts/machinery/status";
import { headerText, isTransportError, type TransportResponse } from "./transport.ts";

const reasons: ReadonlyMap<number, StatusReason> = new Map([
  [400, "BadRequest"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [405, "MethodNotAllowed"],
  [406, "NotAcceptable"],
  [409, "Conflict"],
  [410, "Gone"],
  [413, "RequestEntityTooLarge"],
  [415, "UnsupportedMediaType"],
  [422, "Invalid"],
  [429, "TooManyRequests"],
  [500, "InternalError"],
  [503, "ServiceUnavailable"],
  [504, "Timeout"],
]);

/** Enough to recognise a proxy's error page, not enough to fill a log. */
const foreignTextCharactersMax = 512;

export async function responseError(response: TransportResponse): Promise<StatusError> {
  const text = await refusalText(response);
  const status = parseStatus(text);
  const retryAfter = retryAfterSeconds(response);
  if (status !== undefined) {
    // The header counts even where the body has no `retryAfterSeconds`.
    const details =
      retryAfter === undefined
        ? status.details
        : { retryAfterSeconds: retryAfter, ...status.details };
    const merged = details === undefined ? status : { ...status, details };
    return statusErrorOf(merged, response.status);
  }
  return new StatusError({
    code: response.status,
    reason: reasons.get(response.status) ?? "InternalError",
    message: `the server answered ${response.status}: ${text.slice(0, foreignTextCharactersMax).trim()}`,
    ...(retryAfter === undefined ? {} : { details: { retryAfterSeconds: retryAfter } }),
  });
}

/** A body that is longer than any Status comes from a proxy, and is not read. */
async function refusalText({ body }: TransportResponse): Promise<string> {
  try {
    return await body.text(bounds.refusal.bytesMax);
  } catch (error) {
    if (isTransportError(error, "connection-lost")) return error.message;
    throw error;
  }
}

/** Parses a Status object: a body, or the object of an ERROR event. */
export function statusErrorOf(status: Partial<Status>, httpStatus = 500): StatusError {
  const code = typeof status.code === "number" && status.code > 0 ? status.code : httpStatus;
  return new StatusError({
    ...status,
    code,
    reason: status.reason ?? reasons.get(code) ?? "InternalError",
    message: status.message ?? `the server answered ${code}`,
  });
}

/** The seconds of `Retry-After`; API servers do not use the form with a date. */
export function retryAfterSeconds(response: TransportResponse): number | undefined {
  const text = headerText(response.headers, "retry-after");
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined;
  return Number(text);
}

function parseStatus(text: string): Partial<Status> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value = parseBounded(bounds.refusal, text);
    return isJsonObject(value) && value["kind"] === "Status"
      ? (value as unknown as Partial<Status>)
      : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError || isBoundExceeded(error)) return undefined;
    throw error;
  }
}
