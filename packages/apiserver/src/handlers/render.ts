/** Renders stored entries as the bytes of a response, in the form that the client requested. */

import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  encodeValue,
  generatedMicrosPerByte,
  jsonBytes,
  negotiate,
  parseIncludeObject,
  partialMetadataOf,
  type ResponseFormat,
  streamText,
  tableOf,
  toBytes,
  toYaml,
  type ValueChunks,
} from "../content/index.ts";
import { toServed, type WriteResult } from "../registry/index.ts";
import { type ApiResponse, header, responseHeaders } from "../request/api-request.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject, decodeObjectResumable, servedBytes } from "../stored-object/index.ts";
import { type HandlerDependencies, type HandlerRequest, uncancelled } from "./handler-context.ts";

export function negotiateObject({ request }: HandlerRequest): ResponseFormat {
  return negotiate(header(request.headers, "accept"), {
    table: true,
    partial: "PartialObjectMetadata",
  });
}

export function renderObject(
  status: number,
  entry: Entry,
  form: ResponseFormat,
  handled: HandlerRequest,
  { clock }: HandlerDependencies,
): ApiResponse {
  if (form.as === "object" && form.mediaType === "application/json")
    return { status, headers: responseHeaders(form.mediaType), body: servedBytes(entry) };
  const show = (object: JsonObject) => transform(object, form, handled, clock.now());
  if (entry.value.length <= shortObjectBytes)
    return renderValue(status, show(decodeObject(entry)), form);
  return renderTexts(status, largeObject(entry, show, form), form);
}

function* largeObject(
  entry: Entry,
  show: (object: JsonObject) => JsonObject,
  { mediaType }: ResponseFormat,
): ValueChunks {
  const object = yield* decodeInRests(entry);
  yield* encodeValue(show(object), mediaType);
}

/** Encodes the response while it is sent. */
function renderTexts(
  status: number,
  texts: ValueChunks,
  { mediaType }: ResponseFormat,
): ApiResponse {
  const headers = responseHeaders(mediaType);
  return { status, headers, body: streamText(texts), microsPerByte: generatedMicrosPerByte };
}

/** The response to a write; a dry run of a create has no resourceVersion. */
export function renderWriteResult(
  status: number,
  { entry, isStored }: WriteResult,
  form: ResponseFormat,
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): ApiResponse {
  if (isStored) return renderObject(status, entry, form, handled, dependencies);
  const show = (object: JsonObject) => {
    const { resourceVersion: _, ...metadata } = object["metadata"] as JsonObject;
    return transform({ ...object, metadata }, form, handled, dependencies.clock.now());
  };
  if (entry.value.length <= shortObjectBytes)
    return renderValue(status, show(decodeObject(entry)), form);
  return renderTexts(status, largeObject(entry, show, form), form);
}

/** For values that are small, or that this server created. */
export function renderValue(status: number, value: JsonObject, form: ResponseFormat): ApiResponse {
  return form.mediaType === "application/yaml"
    ? jsonBytes(status, Buffer.from(toYaml(value)), "application/yaml")
    : jsonBytes(status, toBytes(value));
}

function transform(
  object: JsonObject,
  form: ResponseFormat,
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
      return partialMetadataOf(object, form.version);
    default:
      return object;
  }
}

// finishWrite converts the result of a write to the requested version, adds warnings, and waits
// until the watch cache has seen the write where the kind requires it.

export async function finishWrite(
  written: WriteResult,
  { definition, warnings }: HandlerRequest,
  { watchCache }: HandlerDependencies,
): Promise<WriteResult> {
  const { isStored, outcome } = written;
  if (written.warnings !== undefined) warnings.push(...written.warnings);
  const isServedForm = outcome === "created" && definition.codec?.storesAsServed !== false;
  const entry = isServedForm ? written.entry : await toServed(definition, written.entry);
  if (definition.warnings !== undefined) warnings.push(...definition.warnings);
  if (definition.waitsForOwnWrite === true && isStored)
    await watchCache.hub.waitUntilSeen(entry.modifiedAt, uncancelled);
  return entry === written.entry ? written : { ...written, entry };
}

// The object of an entry, for a response that is encoded while it is sent: parsing a large one
// yields to the event loop.

/** The bytes that are parsed synchronously, in a fraction of a millisecond. */
export const shortObjectBytes = 64 << 10;

export function* decodeInRests(entry: Entry): Generator<undefined, JsonObject, void> {
  if (entry.value.length <= shortObjectBytes) return decodeObject(entry);
  const work = decodeObjectResumable(entry);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    yield undefined;
  }
}
