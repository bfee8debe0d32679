/** Splits a stream into lines; a line longer than its bound ends the reading. */
import { type Bound, BoundExceededError } from "@kcp-ts/machinery/bounds";

const newline = 10;

export async function* readLines(
  bound: Bound,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let begun = "";
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(newline, at);
      const part = chunk.subarray(at, end < 0 ? chunk.length : end);
      begun += decoder.decode(part, { stream: true });
      if (begun.length > bound.bytesMax)
        throw new BoundExceededError(bound, "bytes", bound.bytesMax);
      if (end < 0) break;
      if (begun !== "") yield begun;
      begun = "";
      at = end + 1;
    }
  }
}
