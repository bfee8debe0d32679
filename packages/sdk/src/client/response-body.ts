/**
 * A ResponseBody from the chunks of a server in the same process. Text stays text: it is not
 * encoded only to be decoded again.
 */
import { type ResponseBody, TransportError } from "./transport.ts";

export type BodySource = string | Uint8Array | AsyncIterable<Uint8Array>;

export function responseBody(source: BodySource): ResponseBody {
  if (typeof source === "string") {
    return {
      text: async (bytesMax = Number.POSITIVE_INFINITY) => {
        // Most often the length is enough: a UTF-16 unit takes three bytes at most.
        if (3 * source.length > bytesMax)
          refuseBeyond(bytesMax, new TextEncoder().encode(source).length);
        return source;
      },
      async *[Symbol.asyncIterator]() {
        yield new TextEncoder().encode(source);
      },
    };
  }
  if (source instanceof Uint8Array) {
    return {
      text: async (bytesMax = Number.POSITIVE_INFINITY) => {
        refuseBeyond(bytesMax, source.length);
        return new TextDecoder().decode(source);
      },
      async *[Symbol.asyncIterator]() {
        yield source;
      },
    };
  }
  return {
    text: (bytesMax) => readText(source, bytesMax),
    [Symbol.asyncIterator]: () => source[Symbol.asyncIterator](),
  };
}

async function readText(
  source: AsyncIterable<Uint8Array>,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    refuseBeyond(bytesMax, bytes);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Throws in the loop over a body, which cancels the body. */
function refuseBeyond(bytesMax: number, bytes: number): void {
  if (bytes > bytesMax)
    throw new TransportError("connection-lost", `the answer is longer than ${bytesMax} bytes`);
}
