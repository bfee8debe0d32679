/** Lists in forms that are made object by object, such as tables or YAML: written while they are sent, a little in each turn. */
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

/** Objects, and UTF-8 bytes of objects, that are written at once: a row of a table takes some twenty microseconds to make. */
export const sliceItems = 20;
export const sliceBytes = 64 << 10;

export interface SlicedList {
  /** Everything but the items. */
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
