/** From stored entries to the bytes of an answer, in the form that the client asked for. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type AnswerForm,
  jsonBytes,
  negotiate,
  paced,
  pacedMicrosPerByte,
  parseIncludeObject,
  partialOf,
  type Texts,
  tableOf,
  toBytes,
  toYaml,
  valueTexts,
} from "../content/index.ts";
import type { Written } from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import { responseHeaders } from "../request/response-headers.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject, servedBytes } from "../stored-object/index.ts";
import type { HandlerRequest, HandlerRooms } from "./context.ts";
import { decodeInRests, shortObjectBytes } from "./decode-rests.ts";

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
  const show = (object: JsonObject) => transform(object, form, handled, clock.now());
  if (entry.value.length <= shortObjectBytes)
    return renderValue(status, show(decodeObject(entry)), form);
  return renderTexts(status, largeObject(entry, show, form), form);
}

function* largeObject(
  entry: Entry,
  show: (object: JsonObject) => JsonObject,
  { mediaType }: AnswerForm,
): Texts {
  const object = yield* decodeInRests(entry);
  yield* valueTexts(show(object), mediaType);
}

/** Made while it is sent. */
function renderTexts(status: number, texts: Texts, { mediaType }: AnswerForm): ApiResponse {
  const headers = responseHeaders(mediaType);
  return { status, headers, body: paced(texts), microsPerByte: pacedMicrosPerByte };
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
  const show = (object: JsonObject) => {
    const { resourceVersion: _, ...metadata } = object["metadata"] as JsonObject;
    return transform({ ...object, metadata }, form, handled, rooms.clock.now());
  };
  if (entry.value.length <= shortObjectBytes)
    return renderValue(status, show(decodeObject(entry)), form);
  return renderTexts(status, largeObject(entry, show, form), form);
}

/** For values that are small, or were made here. */
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
