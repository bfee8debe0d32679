/** A ResponseBody out of what a server in the same process has at hand. Text stays text: nothing is encoded to be decoded. */
import type { ResponseBody } from "./transport.ts";

export type BodySource = string | Uint8Array | AsyncIterable<Uint8Array>;

export function responseBody(source: BodySource): ResponseBody {
  if (typeof source === "string") {
    return {
      text: () => Promise.resolve(source),
      async *[Symbol.asyncIterator]() {
        yield new TextEncoder().encode(source);
      },
    };
  }
  if (source instanceof Uint8Array) {
    return {
      text: () => Promise.resolve(new TextDecoder().decode(source)),
      async *[Symbol.asyncIterator]() {
        yield source;
      },
    };
  }
  return {
    text: () => readText(source),
    [Symbol.asyncIterator]: () => source[Symbol.asyncIterator](),
  };
}

async function readText(source: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of source) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
