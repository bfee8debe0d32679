/** Small responses: JSON values, Status objects, text. */
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { type Status, StatusError, statusError } from "@kcp-ts/machinery/status";
import { type ApiResponse, responseHeaders } from "../request/api-request.ts";

export const jsonType = "application/json";

export function jsonBytes(
  status: number,
  bytes: Uint8Array,
  contentType: string = jsonType,
): ApiResponse {
  return { status, headers: responseHeaders(contentType), body: bytes };
}

export function jsonResponse(
  status: number,
  value: JsonValue,
  contentType: string = jsonType,
): ApiResponse {
  return jsonBytes(status, Buffer.from(stringifyJson(value)), contentType);
}

export function textResponse(status: number, body: string): ApiResponse {
  return { status, headers: responseHeaders("text/plain; charset=utf-8"), body: Buffer.from(body) };
}

export function statusResponse(error: StatusError): ApiResponse {
  const response = jsonResponse(error.code, error.status as unknown as JsonObject);
  const retryAfter = error.status.details?.retryAfterSeconds;
  if (retryAfter !== undefined && retryAfter > 0)
    response.headers["retry-after"] = String(retryAfter);
  return response;
}

/** The Status that a client receives for an unexpected error, without its details. */
export function toStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  return statusError.internal("an unexpected error; see the server's log", error);
}

export function successResponse(details: NonNullable<Status["details"]>): JsonObject {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: details as unknown as JsonObject,
  };
}
