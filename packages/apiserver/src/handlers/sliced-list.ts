/**
 * Lists in forms that are encoded object by object, such as Tables or YAML: encoded while they are
 * sent, one slice in each turn.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  generatedMicrosPerByte,
  type ListWriter,
  listWriter,
  type ResponseFormat,
  streamText,
  type ValueChunks,
} from "../content/index.ts";
import { type ApiResponse, responseHeaders } from "../request/api-request.ts";
import type { Entry } from "../storage/index.ts";
import { decodeInRests } from "./render.ts";

/**
 * The objects, and UTF-8 bytes of objects, of one slice: encoding a row of a Table takes some
 * twenty microseconds.
 */
export const sliceItems = 20;
export const sliceBytes = 64 << 10;

export interface SlicedList {
  /** The list without its items. */
  readonly head: JsonObject;
  readonly member: "rows" | "items";
  readonly item: (object: JsonObject) => JsonObject;
}

export function slicedList(
  batches: AsyncIterable<readonly Entry[]>,
  list: SlicedList,
  { mediaType }: Pick<ResponseFormat, "mediaType">,
): ApiResponse {
  const body = slices(batches, list, listWriter(mediaType));
  const headers = responseHeaders(mediaType);
  return { status: 200, headers, body, microsPerByte: generatedMicrosPerByte };
}

async function* slices(
  batches: AsyncIterable<readonly Entry[]>,
  { head, member, item }: SlicedList,
  writer: ListWriter,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(writer.opening(head, member));
  for await (const batch of batches) yield* streamText(itemsOf(batch, item, writer));
  yield Buffer.from(writer.closing());
}

function* itemsOf(
  batch: readonly Entry[],
  item: SlicedList["item"],
  writer: ListWriter,
): ValueChunks {
  for (const entry of batch) {
    const object = yield* decodeInRests(entry);
    yield* writer.item(item(object));
    yield;
  }
}
