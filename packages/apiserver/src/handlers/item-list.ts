/** Lists of complete objects: stored bytes, copied into chunks. */
import { jsonBytes } from "../content/index.ts";
import {
  type ApiResponse,
  type BufferReusingBody,
  responseHeaders,
} from "../request/api-request.ts";
import type { Entry } from "../storage/index.ts";
import { itemBytesMax, writeListItem } from "../stored-object/index.ts";
import type { ListResult } from "../watch-cache/index.ts";

/**
 * Items are copied into chunks of this size, which takes some ten microseconds; a larger item has a
 * chunk of its own.
 */
const chunkBytes = 64 << 10;
/** Lists up to this size are one chunk and not streamed. */
const wholeBytesMax = 64 << 10;
const closing = Buffer.from("]}");

/** `opening` contains all bytes before the first item. */
export function itemList(
  opening: Buffer,
  entries: ListResult["entries"],
  itemsCarryKind: boolean,
): ApiResponse {
  const body = new ItemList(opening, entries, itemsCarryKind);
  if (!(Symbol.asyncIterator in entries) && body.fitsInto(wholeBytesMax))
    return jsonBytes(200, body.whole(entries));
  return { status: 200, headers: responseHeaders("application/json"), body };
}

type NewChunk = (bytes: number) => Buffer;

class ItemList implements BufferReusingBody {
  readonly #opening: Buffer;
  readonly #entries: ListResult["entries"];
  readonly #itemsCarryKind: boolean;

  constructor(opening: Buffer, entries: ListResult["entries"], itemsCarryKind: boolean) {
    this.#opening = opening;
    this.#entries = entries;
    this.#itemsCarryKind = itemsCarryKind;
  }

  fitsInto(bytesMax: number): boolean {
    let bytes = this.#opening.length + closing.length;
    for (const entry of this.#entries as readonly Entry[]) {
      bytes += itemBytesMax(entry) + 1;
      if (bytes > bytesMax) return false;
    }
    return true;
  }

  whole(entries: readonly Entry[]): Buffer {
    return Buffer.concat([
      this.#opening,
      ...this.#chunks(entries, true, Buffer.allocUnsafe),
      closing,
    ]);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#stream(Buffer.allocUnsafe);
  }

  reusingBuffer(): AsyncIterable<Uint8Array> {
    return this.#stream(reused());
  }

  async *#stream(newChunk: NewChunk): AsyncGenerator<Uint8Array> {
    yield this.#opening;
    let isFirst = true;
    const batches = Symbol.asyncIterator in this.#entries ? this.#entries : [this.#entries];
    for await (const entries of batches) {
      if (entries.length === 0) continue;
      yield* this.#chunks(entries, isFirst, newChunk);
      isFirst = false;
    }
    yield closing;
  }

  *#chunks(
    entries: readonly Entry[],
    isFirstBatch: boolean,
    newChunk: NewChunk,
  ): Generator<Buffer> {
    let isFirst = isFirstBatch;
    for (let at = 0; at < entries.length; ) {
      let end = at;
      let size = 0;
      for (; end < entries.length; end++) {
        const bytes = itemBytesMax(entries[end] as Entry) + 1;
        if (size + bytes > chunkBytes && end > at) break;
        size += bytes;
      }
      const chunk = newChunk(size);
      let written = 0;
      for (; at < end; at++) {
        if (!isFirst) chunk[written++] = 0x2c;
        isFirst = false;
        written = writeListItem(chunk, written, entries[at] as Entry, this.#itemsCarryKind);
      }
      yield chunk.subarray(0, written);
    }
  }
}

/** Returns the same chunk every time; larger items get a new buffer. */
function reused(): NewChunk {
  let chunk: Buffer | undefined;
  return (bytes) => {
    if (bytes > chunkBytes) return Buffer.allocUnsafe(bytes);
    chunk ??= Buffer.allocUnsafeSlow(chunkBytes);
    return chunk;
  };
}
