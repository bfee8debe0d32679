/** Small responses: JSON values, Status objects, text. */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { type Status, StatusError, statusError } from "@kcp-ts/machinery/status";
import { type ApiResponse, responseHeaders } from "../request/api-request.ts";
import { toYaml } from "./yaml.ts";

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

/** `accept` is the header of the request: a client of YAML gets the Status in YAML. */
export function statusResponse(error: StatusError, accept?: string): ApiResponse {
  const status = error.status as unknown as JsonObject;
  const response = prefersYaml(accept)
    ? jsonBytes(error.code, Buffer.from(sortedYaml(status)), "application/yaml")
    : jsonResponse(error.code, status);
  const retryAfter = error.status.details?.retryAfterSeconds;
  if (retryAfter !== undefined && retryAfter > 0)
    response.headers["retry-after"] = String(retryAfter);
  return response;
}

function prefersYaml(accept = ""): boolean {
  return /^\s*application\/yaml\b/.test(accept);
}

/** YAML with its members sorted, as Go writes it. */
export function sortedYaml(value: JsonObject): string {
  return toYaml(sortedMembers(value));
}

function sortedMembers(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortedMembers);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sortedMembers(member)]));
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
