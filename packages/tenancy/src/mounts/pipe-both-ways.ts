/**
 * Joins two connections: the bytes of each side go to the other, with backpressure, until either
 * side ends.
 */
import type { Duplex } from "node:stream";

export function pipeBothWays(one: Duplex, other: Duplex): void {
  // Every error is followed by a close event, which ends the pipe.
  one.on("error", () => {});
  other.on("error", () => {});
  one.once("close", () => destroyBoth(other));
  other.once("close", () => destroyBoth(one));
  if (one.destroyed || other.destroyed) {
    one.destroy();
    other.destroy();
    return;
  }
  one.pipe(other);
  other.pipe(one);
}

/** The other side is closed: flushes the pending bytes, then destroys the stream. */
function destroyBoth(stream: Duplex): void {
  if (stream.destroyed) return;
  stream.end(() => stream.destroy());
}
