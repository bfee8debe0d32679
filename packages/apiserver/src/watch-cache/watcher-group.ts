/**
 * The watches of one prefix, and the events that not all of them have been sent.
 *
 *     log      ──[41][42][43][44][45]──►        an event is in it once, for any number of watches
 *     cursors       ▲       ▲       ▲           each watch has a cursor in it, or at its end
 *
 * A watch that is far behind takes many events at once, and all take slices of the same bytes.
 */
import { EventLogSegment } from "./event-log-segment.ts";
import type { EventRange } from "./event-range.ts";
import type { HubEvent } from "./hub-event.ts";

export interface GroupedWatcher {
  onEvent(event: HubEvent): void;
  /** Delivers several events, in order; returns the number of bytes. */
  onEventRange(run: EventRange): number;
  /** The last delivery has not been taken yet: more events would only queue. */
  readonly isBackpressured: boolean;
  /** The watch is too far behind to be sent more events. */
  onFellBehind(): void;
}

/** The position of a watch in the log. */
export class WatcherCursor {
  readonly watcher: GroupedWatcher;
  /** The number of its first unsent event. */
  next: number;

  constructor(watcher: GroupedWatcher, next: number) {
    this.watcher = watcher;
    this.next = next;
  }
}

/** The size of the logs of all groups. */
export interface EventLogSize {
  bytes: number;
}

export class WatcherGroup {
  readonly #totalSize: EventLogSize;
  readonly cursors = new Set<WatcherCursor>();
  /**
   * The cursors that a pass left behind: their readers were slow, or they had more events than one
   * range holds.
   */
  readonly lagging = new Set<WatcherCursor>();
  /** The log, in segments that are sent at once; the first may begin before the log's start. */
  #segments: EventLogSegment[] = [];
  /** The number of the oldest event in the log, which is the next event while the log is empty. */
  start = 0;
  /** The number of the next event. */
  end = 0;
  #bytes = 0;
  /** A pass over all cursors, or over the lagging ones; undefined between passes. */
  pass: FanOutPass | undefined;
  /** All cursors except the lagging ones are at this event. */
  deliveredTo = 0;

  constructor(all: EventLogSize = { bytes: 0 }) {
    this.#totalSize = all;
  }

  /** A new member has all events before its cursor already. */
  add(member: GroupedWatcher): WatcherCursor {
    const place = new WatcherCursor(member, this.end);
    this.cursors.add(place);
    return place;
  }

  remove(cursor: WatcherCursor): void {
    this.cursors.delete(cursor);
    this.lagging.delete(cursor);
  }

  get size(): number {
    return this.end - this.start;
  }

  get bytes(): number {
    return this.#bytes;
  }

  at(number: number): HubEvent {
    const { from, events } = this.segmentOf(number);
    return events[number - from] as HubEvent;
  }

  /** The segment with this event. */
  segmentOf(number: number): EventLogSegment {
    let [low, high] = [0, this.#segments.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#segments[middle] as EventLogSegment).to > number) high = middle;
      else low = middle + 1;
    }
    return this.#segments[low] as EventLogSegment;
  }

  push(event: HubEvent): void {
    if (this.#segments.at(-1)?.add(event) !== true) {
      const segment = new EventLogSegment(this.end);
      segment.add(event);
      this.#segments.push(segment);
    }
    this.end++;
    this.#bytes += event.bytes;
    this.#totalSize.bytes += event.bytes;
  }

  /** Drops all events before this one. */
  dropBefore(number: number): void {
    const start = Math.min(Math.max(this.start, number), this.end);
    for (const { from, to, events } of this.#segments) {
      if (from >= start) break;
      for (let at = Math.max(from, this.start); at < Math.min(to, start); at++) {
        const event = events[at - from] as HubEvent;
        this.#bytes -= event.bytes;
        this.#totalSize.bytes -= event.bytes;
        event.clearEncoded();
      }
    }
    this.start = start;
    const left = this.#segments.findIndex(({ to }) => to > start);
    this.#segments = left < 0 ? [] : this.#segments.slice(left);
  }

  /** The members of the group get no more events. */
  clear(): void {
    this.dropBefore(this.end);
    this.deliveredTo = this.end;
    this.lagging.clear();
    this.pass = undefined;
  }
}

/** One pass over the cursors of a group, over as many turns of the event loop as it takes. */
export interface FanOutPass {
  readonly remaining: Iterator<WatcherCursor>;
  /** The end of the log when the pass began: a visited watch that reaches it is not lagging. */
  readonly to: number;
  readonly coversAll: boolean;
  /** Whether an event was sent. */
  madeProgress: boolean;
}
