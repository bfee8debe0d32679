/**
 * EventBuffer: encoded events that wait to be sent, limited in number and in bytes, and returned in
 * batches that are limited in both, too.
 */
export interface EventBufferLimits {
  readonly bufferEventsMax: number;
  readonly bufferBytesMax: number;
  readonly batchEventsMax: number;
  /** A larger event is a batch of its own. */
  readonly batchBytesMax: number;
}

export class EventBuffer {
  readonly #limits: EventBufferLimits;
  #events: Buffer[] = [];
  #bytes = 0;

  constructor(limits: EventBufferLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#events.length;
  }

  /** Whether the buffer has enough events for a batch. */
  get isBatchFull(): boolean {
    const { batchEventsMax, batchBytesMax } = this.#limits;
    return this.#events.length >= batchEventsMax || this.#bytes >= batchBytesMax;
  }

  /** False when the buffer is full. */
  add(event: string): boolean {
    const { bufferEventsMax, bufferBytesMax } = this.#limits;
    if (this.#events.length >= bufferEventsMax) return false;
    if (this.#bytes + Buffer.byteLength(event) > bufferBytesMax) return false;
    const bytes = Buffer.from(event);
    this.#events.push(bytes);
    this.#bytes += bytes.length;
    return true;
  }

  /**
   * The oldest events. They stay in the buffer, and count for its limits, until they are removed.
   */
  batch(): readonly Buffer[] {
    const { batchEventsMax, batchBytesMax } = this.#limits;
    let bytes = head.length + tail.length;
    let count = 0;
    for (const event of this.#events) {
      bytes += event.length + 1;
      if (count > 0 && (count === batchEventsMax || bytes > batchBytesMax)) break;
      count++;
    }
    return this.#events.slice(0, count);
  }

  remove(count: number): void {
    for (const { length } of this.#events.splice(0, count)) this.#bytes -= length;
  }
}

const head = Buffer.from(
  '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[',
);
const comma = Buffer.from(",");
const tail = Buffer.from("]}");

/** The events as one body. */
export function eventList(events: readonly Buffer[]): Buffer {
  const parts = events.flatMap((event, at) => (at === 0 ? [event] : [comma, event]));
  return Buffer.concat([head, ...parts, tail]);
}
