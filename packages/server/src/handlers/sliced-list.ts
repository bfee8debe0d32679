/** Lists in forms that are made object by object, such as tables: written in slices, each well under the time of a turn. */

import { systemClock } from "@kcp-ts/machinery/base";
import { type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import type { ApiResponse } from "../request/api-request.ts";
import { otherWork } from "../request/other-work.ts";
import type { Entry } from "../storage/index.ts";

/** A row of a table takes some twenty microseconds to make, and has some four hundred bytes. */
export const sliceItems = 20;
const microsPerByte = 1 / 20;

/** Milliseconds after which a slice ends before that: columns may look at much. */
const sliceMs = 5;

/** UTF-8 bytes of objects that are worth slices of their own, however few they are. */
export const sliceBytes = 64 << 10;

export interface SlicedList {
  /** Everything but the items. */
  readonly head: JsonObject;
  readonly member: "rows" | "items";
  readonly item: (entry: Entry) => JsonObject;
}

export function slicedList(
  batches: AsyncIterable<readonly Entry[]>,
  list: SlicedList,
): ApiResponse {
  const headers = { "content-type": "application/json" };
  return { status: 200, headers, body: slices(batches, list), microsPerByte };
}

async function* slices(
  batches: AsyncIterable<readonly Entry[]>,
  { head, member, item }: SlicedList,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${stringifyJson(head).slice(0, -1)},"${member}":[`);
  let isFirst = true;
  for await (const batch of batches) {
    for (let at = 0; at < batch.length; ) {
      const texts: string[] = [];
      const endsAt = systemClock.monotonic() + sliceMs;
      do texts.push(stringifyJson(item(batch[at++] as Entry)));
      while (at < batch.length && texts.length < sliceItems && systemClock.monotonic() < endsAt);
      if (texts.length < sliceItems && at < batch.length) await otherWork();
      const text = texts.join(",");
      yield Buffer.from(isFirst ? text : `,${text}`);
      isFirst = false;
    }
  }
  yield Buffer.from("]}");
}
