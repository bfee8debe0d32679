/**
 * A stretch of a crowd's log, and its bytes in the forms that are asked for.
 *
 *     changes   [41][42][43][44]
 *     bytes     ████████████████      whoever is at 43 is told ███████ of them: a part of the same bytes, wherever he is
 *
 * A crowd that is behind is scattered over the log, and bytes of one's own for each of its members would be most of the work, and of the memory.
 */
import { assert } from "@kcp-ts/machinery/base";
import { type EventEncoding, eventTypeFor, type HubEvent } from "./hub-event.ts";

export const segmentLimits = {
  /** What one watch is told at once. */
  eventsMax: 256,
  bytesMax: 64 << 10,
} as const;

export class EventLogSegment {
  readonly events: HubEvent[] = [];
  /** The number of its first change. */
  readonly from: number;
  readonly #texts = new Map<string, EncodedSegment>();
  #bytes = 0;

  constructor(from: number) {
    this.from = from;
  }

  /** The number behind its last change. */
  get to(): number {
    return this.from + this.events.length;
  }

  /** Whether there was room for it. */
  add(event: HubEvent): boolean {
    const { eventsMax, bytesMax } = segmentLimits;
    const { length } = this.events;
    const bytes = this.#bytes + event.shownBytes;
    if (length > 0 && (length === eventsMax || bytes > bytesMax)) return false;
    this.events.push(event);
    this.#bytes = bytes;
    return true;
  }

  /** All changes from `from` to `to`, as they are for whoever selects nothing. The bytes are shared: nobody may write to them. */
  encoded(form: EventEncoding, from: number, to: number): Buffer {
    const [begin, end] = [from - this.from, to - this.from];
    const event = this.events[begin];
    assert(event !== undefined && end <= this.events.length, "changes of another segment");
    // The rule, when everybody keeps up: it needs no copy.
    if (end - begin === 1) return encodedEvent(event, form, "shared");
    let text = this.#texts.get(form.name);
    if (text === undefined) {
      text = new EncodedSegment(this.events, form);
      this.#texts.set(form.name, text);
    }
    return text.part(begin, end);
  }
}

/** Grows as changes come. What was handed out stays as it is: bytes are only ever added behind it, or elsewhere. */
class EncodedSegment {
  readonly #events: readonly HubEvent[];
  readonly #form: EventEncoding;
  /** Where each change begins, and behind them where the next one will. */
  readonly #starts: number[] = [0];
  #bytes: Buffer = Buffer.alloc(0);
  #part: { readonly begin: number; readonly end: number; readonly bytes: Buffer } | undefined;

  constructor(events: readonly HubEvent[], form: EventEncoding) {
    this.#events = events;
    this.#form = form;
  }

  /** Those who are equally far get the very same. */
  part(begin: number, end: number): Buffer {
    if (this.#part?.begin === begin && this.#part.end === end) return this.#part.bytes;
    this.#encodeTo(end);
    const bytes = this.#bytes.subarray(this.#starts[begin], this.#starts[end]);
    this.#part = { begin, end, bytes };
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
    this.#makeRoom(known, length);
    let at = known;
    for (const part of parts) {
      this.#bytes.set(part, at);
      at += part.length;
    }
  }

  #makeRoom(known: number, wanted: number): void {
    if (wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, Math.min(2 * wanted, roomMax)));
    larger.set(this.#bytes.subarray(0, known));
    this.#bytes = larger;
  }
}

/** What is kept free for changes to come. */
const roomMax = segmentLimits.bytesMax + (8 << 10);
const nothing = Buffer.alloc(0);

/** `shared` is kept at the change until its crowd has been told; what is copied into a text need not be. */
function encodedEvent(event: HubEvent, form: EventEncoding, bytes: "shared" | "own"): Buffer {
  const type = eventTypeFor(event, undefined);
  if (type === undefined) return nothing;
  return bytes === "shared" ? event.encodeShared(type, form) : event.encode(type, form);
}
