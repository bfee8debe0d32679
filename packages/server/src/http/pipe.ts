/** Writes a stream of chunks at the pace of its reader, and stops when the reader is gone. How much it was. */
import type { Writable } from "node:stream";

export async function pipe(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  target: Writable,
  pace?: (bytes: number) => Promise<void> | undefined,
): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    const othersFirst = pace?.(chunk.length);
    if (othersFirst !== undefined) await othersFirst;
    if (target.destroyed) break;
    if (!target.write(chunk)) await drained(target);
  }
  return bytes;
}

export const pieceBytesMax = 64 << 10;

export function* inPieces(body: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < body.length; at += pieceBytesMax)
    yield body.subarray(at, at + pieceBytesMax);
}

/** Who never reads is ended by `StalledReaders`, and then it is over. */
function drained(target: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      target.off("drain", done);
      target.off("close", done);
      resolve();
    };
    target.on("drain", done);
    target.on("close", done);
    if (target.destroyed) done();
  });
}
