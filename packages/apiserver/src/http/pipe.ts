/** Writes a stream of chunks at the pace of its reader, and stops when the reader is gone. How much it was. */
import type { Writable } from "node:stream";
import { type Pace, type UnreadBytes, untilPaced } from "../request/api-request.ts";

export interface PipeOptions {
  readonly pace?: Pace | undefined;
  /** Where it is counted what the reader has not read. */
  readonly unread?: UnreadBytes | undefined;
}

export async function pipe(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  target: Writable,
  { pace, unread }: PipeOptions = {},
): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (pace !== undefined) await untilPaced(pace, chunk.length);
    if (target.destroyed) break;
    if (chunk.length <= pieceBytesMax && target.write(chunk)) continue;
    await writeSlowly(chunk, target, unread);
  }
  return bytes;
}

/** Piece by piece: what is written is encrypted at once, and there twice until its reader has read it. */
async function writeSlowly(
  chunk: Uint8Array,
  target: Writable,
  unread: UnreadBytes | undefined,
): Promise<void> {
  // It has been written already when it is one piece.
  const pieces = chunk.length <= pieceBytesMax ? [] : inPieces(chunk);
  unread?.hold(chunk);
  try {
    if (chunk.length <= pieceBytesMax) await drainedOf(chunk.length, target, unread);
    for (const piece of pieces) {
      if (target.destroyed) return;
      if (!target.write(piece)) await drainedOf(piece.length, target, unread);
    }
  } finally {
    unread?.release(chunk);
  }
}

async function drainedOf(
  bytes: number,
  target: Writable,
  unread: UnreadBytes | undefined,
): Promise<void> {
  unread?.holdCopy(bytes);
  try {
    await drained(target);
  } finally {
    unread?.releaseCopy(bytes);
  }
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
