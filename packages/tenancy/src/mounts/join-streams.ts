/** Two connections become one: what one side says the other hears, at the pace of the slower one, until either ends. */
import type { Duplex } from "node:stream";

export function pipeBothWays(one: Duplex, other: Duplex): void {
  // An error is followed by a close, and that is what counts.
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

/** The other side is gone: what was said is still delivered, and nothing more will be. */
function destroyBoth(stream: Duplex): void {
  if (stream.destroyed) return;
  stream.end(() => stream.destroy());
}
