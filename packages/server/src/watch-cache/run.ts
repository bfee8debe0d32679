/** Consecutive changes of a crowd's log, told together, and their bytes in the forms that are asked for. */
import type { Crowd } from "./crowd.ts";
import { type EventForm, eventTypeFor, type HubEvent } from "./hub-event.ts";

export const runLimits = {
  /** What one watch is told at once. */
  eventsMax: 256,
  bytesMax: 64 << 10,
} as const;

export class Run {
  readonly events: readonly HubEvent[];
  readonly from: number;
  /** Up to the end of the log, or as much as is told at once. */
  readonly to: number;
  /** There was more than is told at once. */
  readonly isFull: boolean;
  /** For watches without a selector. */
  readonly #encoded = new Map<string, Buffer>();

  constructor(crowd: Crowd, from: number) {
    const events: HubEvent[] = [];
    let bytes = 0;
    for (let at = from; at < crowd.end && events.length < runLimits.eventsMax; at++) {
      const event = crowd.at(at);
      const size = event.shownBytes;
      if (events.length > 0 && bytes + size > runLimits.bytesMax) break;
      events.push(event);
      bytes += size;
    }
    this.events = events;
    this.from = from;
    this.to = from + events.length;
    this.isFull = this.to < crowd.end;
  }

  /** All of them, as they are for whoever selects nothing. The bytes are shared: nobody may write to them. */
  encoded(form: EventForm): Buffer {
    const known = this.#encoded.get(form.name);
    if (known !== undefined) return known;
    const parts: Buffer[] = [];
    for (const event of this.events) {
      const type = eventTypeFor(event, undefined);
      if (type !== undefined) parts.push(event.encodeShared(type, form));
    }
    const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    this.#encoded.set(form.name, bytes);
    return bytes;
  }
}
