/** Consecutive events of a watcher group's log, sent together. */
import type { EventLogSegment } from "./event-log-segment.ts";
import type { EventEncoding, HubEvent } from "./hub-event.ts";

export class EventRange {
  readonly #segment: EventLogSegment;
  readonly from: number;
  /** The number after the last event: the current end of the segment. */
  readonly to: number;

  constructor(segment: EventLogSegment, from: number) {
    this.#segment = segment;
    this.from = from;
    this.to = segment.to;
  }

  get length(): number {
    return this.to - this.from;
  }

  get events(): readonly HubEvent[] {
    const { from, events } = this.#segment;
    return events.slice(this.from - from, this.to - from);
  }

  get first(): HubEvent {
    return this.#at(this.from);
  }

  get last(): HubEvent {
    return this.#at(this.to - 1);
  }

  /**
   * All events, encoded for watchers without a selector. The bytes are shared: callers must not
   * write to them.
   */
  encoded(form: EventEncoding): Buffer {
    return this.#segment.encoded(form, this.from, this.to);
  }

  #at(number: number): HubEvent {
    return this.#segment.events[number - this.#segment.from] as HubEvent;
  }
}
