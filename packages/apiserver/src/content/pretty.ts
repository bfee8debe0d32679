/**
 * Indented JSON for people: for requests with `pretty`, and for browsers and curl. As in
 * Kubernetes: two spaces, and no line break at the end.
 *
 * Indents the bytes of any response, chunk by chunk.
 */
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { ApiResponse } from "../request/api-request.ts";
import { jsonType } from "./respond.ts";

export function prettyPrint(response: ApiResponse): ApiResponse {
  const { body, headers, isWatch } = response;
  const type = headers["content-type"];
  const isJson = typeof type === "string" && type.startsWith(jsonType);
  if (body === undefined || isWatch === true || !isJson) return response;
  if (!(body instanceof Uint8Array)) return { ...response, body: indented(body) };
  const pieces = new Indenter().write(body);
  const first = pieces.next().value ?? noBytes;
  const second = pieces.next();
  if (second.done === true) return { ...response, body: first };
  return { ...response, body: resumableLines([first, second.value], pieces) };
}

const noBytes = new Uint8Array(0);

/**
 * The bytes that are written between two yields to the event loop. The output of a byte depends on
 * its depth: a line break at the deepest level is 2,000 bytes.
 */
const pieceBytes = 64 << 10;

async function* indented(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const indenter = new Indenter();
  for await (const bytes of body) yield* resumableLines([], indenter.write(bytes));
}

async function* resumableLines(
  begun: readonly Uint8Array[],
  pieces: Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* begun;
  let isFirst = begun.length === 0;
  for (const piece of pieces) {
    if (!isFirst) await yieldToEventLoop();
    isFirst = false;
    yield piece;
  }
}

const [quote, backslash, comma, colon, space, newline] = [0x22, 0x5c, 0x2c, 0x3a, 0x20, 0x0a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

class Indenter {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** A bracket was opened, and nothing followed yet. */
  #isContainerEmpty = false;
  #out = Buffer.alloc(0);
  #length = 0;

  /** Yields as many chunks as needed: all of similar size, whatever the bytes are. */
  *write(bytes: Uint8Array): Generator<Uint8Array, undefined, void> {
    this.#begin(bytes.length);
    for (const byte of bytes) {
      this.#take(byte);
      if (this.#length < pieceBytes) continue;
      yield this.#out.subarray(0, this.#length);
      this.#begin(bytes.length);
    }
    if (this.#length > 0) yield this.#out.subarray(0, this.#length);
    return undefined;
  }

  #begin(bytes: number): void {
    this.#out = Buffer.allocUnsafe(Math.min(bytes * 2, pieceBytes) + 4096);
    this.#length = 0;
  }

  #take(byte: number): void {
    if (this.#isText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isText = false;
      this.#put(byte);
    } else if (byte !== space && byte !== newline && byte !== 0x0d && byte !== 0x09)
      this.#takeStructure(byte);
  }

  #takeStructure(byte: number): void {
    const isClosing = byte === closeBrace || byte === closeBracket;
    if (isClosing) {
      this.#depth--;
      if (!this.#isContainerEmpty) this.#breakLine();
    } else if (this.#isContainerEmpty) this.#breakLine();
    this.#isContainerEmpty = byte === openBrace || byte === openBracket;
    if (this.#isContainerEmpty) this.#depth++;
    this.#put(byte);
    if (byte === quote) this.#isText = true;
    else if (byte === comma) this.#breakLine();
    else if (byte === colon) this.#put(space);
  }

  #breakLine(): void {
    this.#put(newline);
    for (let i = 0; i < this.#depth * 2; i++) this.#put(space);
  }

  #put(byte: number): void {
    if (this.#length === this.#out.length)
      this.#out = Buffer.concat([this.#out], this.#out.length * 2);
    this.#out[this.#length++] = byte;
  }
}
