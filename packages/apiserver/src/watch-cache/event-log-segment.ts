/**
 * A segment of a watcher group's log, and its bytes in the requested encodings.
 *
 *     events    [41][42][43][44]
 *     bytes     ████████████████      a watcher at 43 is sent ███████: a slice of the same bytes
 *
 * The watchers of a group that is behind have cursors all over the log, and separate bytes for each
 * of them would be most of the work, and of the memory.
 */
import { assert } from "@kcp-ts/machinery/base";
import { type EventEncoding, eventTypeFor, type HubEvent } from "./hub-event.ts";

export const segmentLimits = {
  /** The events that one watcher is sent at once. */
  eventsMax: 256,
  bytesMax: 64 << 10,
} as const;

export class EventLogSegment {
  readonly events: HubEvent[] = [];
  /** The number of its first event. */
  readonly from: number;
  readonly #encodings = new Map<string, EncodedSegment>();
  #bytes = 0;

  constructor(from: number) {
    this.from = from;
  }

  /** The number after its last event. */
  get to(): number {
    return this.from + this.events.length;
  }

  /** Returns whether the event fits into the segment. */
  add(event: HubEvent): boolean {
    const { eventsMax, bytesMax } = segmentLimits;
    const { length } = this.events;
    const bytes = this.#bytes + event.encodedBytes;
    if (length > 0 && (length === eventsMax || bytes > bytesMax)) return false;
    this.events.push(event);
    this.#bytes = bytes;
    return true;
  }

  /**
   * All events from `from` to `to`, encoded for watchers without a selector. The bytes are shared:
   * callers must not write to them.
   */
  encoded(form: EventEncoding, from: number, to: number): Buffer {
    const [begin, end] = [from - this.from, to - this.from];
    const event = this.events[begin];
    assert(event !== undefined && end <= this.events.length, "changes of another segment");
    // The common case of watchers that keep up: no copy is needed.
    if (end - begin === 1) return encodedEvent(event, form, "shared");
    let text = this.#encodings.get(form.name);
    if (text === undefined) {
      text = new EncodedSegment(this.events, form);
      this.#encodings.set(form.name, text);
    }
    return text.slice(begin, end);
  }
}

/**
 * Grows as events are added. Slices that were handed out stay valid: bytes are only appended after
 * them, or in a new buffer.
 */
class EncodedSegment {
  readonly #events: readonly HubEvent[];
  readonly #form: EventEncoding;
  /** The offset of each event, and the offset of the next one. */
  readonly #starts: number[] = [0];
  #bytes: Buffer = Buffer.alloc(0);
  #lastSlice: { readonly begin: number; readonly end: number; readonly bytes: Buffer } | undefined;

  constructor(events: readonly HubEvent[], form: EventEncoding) {
    this.#events = events;
    this.#form = form;
  }

  /** Watchers with the same cursor get the same slice. */
  slice(begin: number, end: number): Buffer {
    if (this.#lastSlice?.begin === begin && this.#lastSlice.end === end)
      return this.#lastSlice.bytes;
    this.#encodeTo(end);
    const bytes = this.#bytes.subarray(this.#starts[begin], this.#starts[end]);
    this.#lastSlice = { begin, end, bytes };
    return bytes;
  }

  #encodeTo(end: number): void {
    const parts: Buffer[] = [];
    let length = this.#starts.at(-1) as number;
    const known = length;
    for (let at = this.#starts.length - 1; at < end; at++) {
      const part = encodedEvent(this.#events[at] as HubEvent, this.#form, "own");
      parts.push(part);
      length += part.length;
      this.#starts.push(length);
    }
    this.#ensureCapacity(known, length);
    let at = known;
    for (const part of parts) {
      this.#bytes.set(part, at);
      at += part.length;
    }
  }

  #ensureCapacity(known: number, wanted: number): void {
    if (wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, Math.min(2 * wanted, roomMax)));
    larger.set(this.#bytes.subarray(0, known));
    this.#bytes = larger;
  }
}

/** The capacity for future events. */
const roomMax = segmentLimits.bytesMax + (8 << 10);
const nothing = Buffer.alloc(0);

/**
 * `shared` caches the bytes on the event until its group has been notified; bytes that are copied
 * into a segment need no cache.
 */
function encodedEvent(event: HubEvent, form: EventEncoding, bytes: "shared" | "own"): Buffer {
  const type = eventTypeFor(event, undefined);
  if (type === undefined) return nothing;
  return bytes === "shared" ? event.encodeShared(type, form) : event.encode(type, form);
}
