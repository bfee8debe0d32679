/**
 * How the latest streams of a connection ended: a frame that comes for one of them later is an error or none, depending on that
 * (RFC 9113, 5.1). A fixed number of them is remembered, in one small table.
 */

/**
 * `ended`: the client has said its last word. `reset`: the client gave the stream up. `cut`: the server did, and what the client had
 * sent before it knew is still coming. `skipped`: it was never opened, and no longer can be. `forgotten`: it is too long ago.
 */
export type StreamEnd = "ended" | "reset" | "cut" | "skipped" | "forgotten";

/** Streams that are remembered, counted back from the newest. A power of two. */
export const rememberedStreamsMax = 256;

const codes = ["ended", "reset", "cut"] as const;

export class ClosedStreams {
  /** Half of the number (they are odd), then two bits for how it ended, plus one: 0 is nobody. Made when the first stream ends. */
  #table: Uint32Array | undefined;

  add(streamId: number, end: (typeof codes)[number]): void {
    this.#table ??= new Uint32Array(rememberedStreamsMax);
    const slot = slotOf(streamId);
    const entry = (((streamId >>> 1) << 2) | (codes.indexOf(end) + 1)) >>> 0;
    // A stream that was open for long does not displace a newer one.
    if (entry > (this.#table[slot] as number)) this.#table[slot] = entry;
  }

  /** `lastStreamId` is the highest that was opened; the stream is none that is open. */
  find(streamId: number, lastStreamId: number): StreamEnd {
    if (lastStreamId - streamId >= rememberedStreamsMax * 2) return "forgotten";
    const entry = this.#table?.[slotOf(streamId)] ?? 0;
    return entry >>> 2 === streamId >>> 1 && entry !== 0
      ? (codes[(entry & 3) - 1] as StreamEnd)
      : "skipped";
  }
}

function slotOf(streamId: number): number {
  return (streamId >>> 1) & (rememberedStreamsMax - 1);
}
