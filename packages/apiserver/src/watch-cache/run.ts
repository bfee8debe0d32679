/** Consecutive changes of a crowd's log, told together. */
import type { EventEncoding, HubEvent } from "./hub-event.ts";
import type { EventLogSegment } from "./segment.ts";

export class EventRange {
  readonly #segment: EventLogSegment;
  readonly from: number;
  /** Behind the last of them: where the segment ends, as far as it goes by now. */
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

  /** All of them, as they are for whoever selects nothing. The bytes are shared: nobody may write to them. */
  encoded(form: EventEncoding): Buffer {
    return this.#segment.encoded(form, this.from, this.to);
  }

  #at(number: number): HubEvent {
    return this.#segment.events[number - this.#segment.from] as HubEvent;
  }
}
