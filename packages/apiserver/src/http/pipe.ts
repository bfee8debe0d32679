/**
 * Writes a stream of chunks with backpressure, and stops when the reader is gone. Returns the
 * number of bytes.
 */
import type { Writable } from "node:stream";
import { type Pace, type UnreadAccounting, untilPaced } from "../request/api-request.ts";

export interface PipeOptions {
  readonly throttle?: Pace | undefined;
  /** Counts the bytes that the reader has not read. */
  readonly unread?: UnreadAccounting | undefined;
}

export async function pipe(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  target: Writable,
  { throttle, unread }: PipeOptions = {},
): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (throttle !== undefined) await untilPaced(throttle, chunk.length);
    if (target.destroyed) break;
    if (chunk.length <= chunkBytesMax && target.write(chunk)) continue;
    await writeThrottled(chunk, target, unread);
  }
  return bytes;
}

/**
 * Writes chunk by chunk: written bytes are encrypted at once, and exist twice until the reader has
 * read them.
 */
async function writeThrottled(
  chunk: Uint8Array,
  target: Writable,
  unread: UnreadAccounting | undefined,
): Promise<void> {
  // A single chunk is written already.
  const pieces = chunk.length <= chunkBytesMax ? [] : splitChunks(chunk);
  unread?.hold(chunk);
  try {
    if (chunk.length <= chunkBytesMax) await drainedOf(chunk.length, target, unread);
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
  unread: UnreadAccounting | undefined,
): Promise<void> {
  unread?.holdCopy(bytes);
  try {
    await drained(target);
  } finally {
    unread?.releaseCopy(bytes);
  }
}

export const chunkBytesMax = 64 << 10;

export function* splitChunks(body: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < body.length; at += chunkBytesMax)
    yield body.subarray(at, at + chunkBytesMax);
}

/**
 * `StalledConnectionMonitor` closes the connection of a reader that never reads, which ends this
 * wait.
 */
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
