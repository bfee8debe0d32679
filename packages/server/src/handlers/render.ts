/** From stored entries to the bytes of an answer, in the form that the client asked for. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type AnswerForm,
  jsonBytes,
  negotiate,
  parseIncludeObject,
  partialOf,
  tableOf,
  toBytes,
  toYaml,
} from "../content/index.ts";
import type { Written } from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject, servedBytes } from "../stored-object/index.ts";
import type { HandlerRequest, HandlerRooms } from "./context.ts";

export function negotiateObject({ request }: HandlerRequest): AnswerForm {
  return negotiate(header(request.headers, "accept"), {
    table: true,
    partial: "PartialObjectMetadata",
  });
}

export function renderObject(
  status: number,
  entry: Entry,
  form: AnswerForm,
  handled: HandlerRequest,
  { clock }: HandlerRooms,
): ApiResponse {
  if (form.as === "object" && form.mediaType === "application/json")
    return jsonBytes(status, servedBytes(entry));
  const object = decodeObject(entry);
  return renderValue(status, transform(object, form, handled, clock.now()), form);
}

/** A written object; a dry run of a create has no resourceVersion to show. */
export function renderWritten(
  status: number,
  { entry, isStored }: Written,
  form: AnswerForm,
  handled: HandlerRequest,
  rooms: HandlerRooms,
): ApiResponse {
  if (isStored) return renderObject(status, entry, form, handled, rooms);
  const object = decodeObject(entry);
  const { resourceVersion: _, ...metadata } = object["metadata"] as JsonObject;
  return renderValue(
    status,
    transform({ ...object, metadata }, form, handled, rooms.clock.now()),
    form,
  );
}

export function renderValue(status: number, value: JsonObject, form: AnswerForm): ApiResponse {
  return form.mediaType === "application/yaml"
    ? jsonBytes(status, Buffer.from(toYaml(value)), "application/yaml")
    : jsonBytes(status, toBytes(value));
}

function transform(
  object: JsonObject,
  form: AnswerForm,
  { definition, scope }: HandlerRequest,
  nowMs: number,
): JsonObject {
  switch (form.as) {
    case "table": {
      const { resourceVersion } = object["metadata"] as { resourceVersion?: string };
      const metadata = resourceVersion === undefined ? {} : { resourceVersion };
      const includeObject = parseIncludeObject(scope.query);
      return tableOf(definition, [object], metadata, {
        version: form.version,
        includeObject,
        nowMs,
        withColumns: true,
      });
    }
    case "partial":
      return partialOf(object, form.version);
    default:
      return object;
  }
}
