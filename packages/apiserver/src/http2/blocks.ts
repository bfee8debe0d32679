/**
 * Memory for large answers on their way out, used again and again. Allocated anew for each, it would be garbage by the gigabyte, and
 * collecting that holds the thread for ten milliseconds at a time.
 */
import { frameHeadBytes, framePayloadBytesMax } from "./protocol.ts";

/** Four full frames. */
export const blockBytes = 4 * (frameHeadBytes + framePayloadBytesMax);
/** So many are kept while nobody needs them. */
export const freeBlocksMax = 64;

const free: Buffer[] = [];

export function takeBlock(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
}

export function giveBlock(block: Buffer): void {
  if (free.length < freeBlocksMax) free.push(block);
}
