/**
 * The watches of one prefix, and the changes that not all of them have heard of.
 *
 *     log      ──[41][42][43][44][45]──►        a change is in it once, however many are to hear of it
 *     places        ▲       ▲       ▲           each watch is somewhere in it, or at its end
 *
 * Who is far behind takes many changes at once, and all take parts of the same bytes.
 */
import type { HubEvent } from "./hub-event.ts";
import type { EventRange } from "./run.ts";
import { EventLogSegment } from "./segment.ts";

export interface GroupedWatcher {
  onEvent(event: HubEvent): void;
  /** Several changes at once, in order; says how many bytes it was told. */
  onRun(run: EventRange): number;
  /** What it was told last has not been taken yet: more would only wait with it. */
  readonly isHeld: boolean;
  /** It is too far behind to be told any more. */
  onLeftBehind(): void;
}

/** Where a watch is. */
export class WatcherCursor {
  readonly member: GroupedWatcher;
  /** The number of the first change that it has not been told. */
  next: number;

  constructor(member: GroupedWatcher, next: number) {
    this.member = member;
    this.next = next;
  }
}

/** What all crowds hold in their logs. */
export interface EventLogSize {
  bytes: number;
}

export class WatcherGroup {
  readonly #all: EventLogSize;
  readonly places = new Set<WatcherCursor>();
  /** Those that a pass has left behind: their readers were slow, or there was more than one run takes. */
  readonly behind = new Set<WatcherCursor>();
  /** The log, in stretches that are told at once; the first may begin before it. */
  #segments: EventLogSegment[] = [];
  #start = 0;
  #bytes = 0;
  /** A pass over all places, or over those behind; undefined between passes. */
  pass: FanOutPass | undefined;
  /** All but those behind have been told up to here. */
  toldTo = 0;

  constructor(all: EventLogSize = { bytes: 0 }) {
    this.#all = all;
  }

  /** It knows what is older than itself. */
  join(member: GroupedWatcher): WatcherCursor {
    const place = new WatcherCursor(member, this.end);
    this.places.add(place);
    return place;
  }

  leave(place: WatcherCursor): void {
    this.places.delete(place);
    this.behind.delete(place);
  }

  /** The number of the oldest change that is held. */
  get start(): number {
    return this.#start;
  }

  /** The number that the next change gets. */
  get end(): number {
    return this.#segments.at(-1)?.to ?? this.#start;
  }

  get size(): number {
    return this.end - this.#start;
  }

  get bytes(): number {
    return this.#bytes;
  }

  at(number: number): HubEvent {
    const { from, events } = this.segmentOf(number);
    return events[number - from] as HubEvent;
  }

  /** The stretch that has this change. */
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
    this.#bytes += event.bytes;
    this.#all.bytes += event.bytes;
  }

  /** Lets go of all changes before this one. */
  dropBefore(number: number): void {
    const start = Math.min(Math.max(this.#start, number), this.end);
    for (const { from, to, events } of this.#segments) {
      if (from >= start) break;
      for (let at = Math.max(from, this.#start); at < Math.min(to, start); at++) {
        const event = events[at - from] as HubEvent;
        this.#bytes -= event.bytes;
        this.#all.bytes -= event.bytes;
        event.forgetEncoded();
      }
    }
    this.#start = start;
    const left = this.#segments.findIndex(({ to }) => to > start);
    this.#segments = left < 0 ? [] : this.#segments.slice(left);
  }

  /** Nobody here hears anything more. */
  forget(): void {
    this.dropBefore(this.end);
    this.toldTo = this.end;
    this.behind.clear();
    this.pass = undefined;
  }
}

/** One walk over the places of a crowd, over as many turns of the event loop as it takes. */
export interface FanOutPass {
  readonly rest: Iterator<WatcherCursor>;
  /** The end of the log when it began: whoever is visited and gets as far is not behind. */
  readonly to: number;
  readonly isOverAll: boolean;
  /** Whether somebody was told something. */
  hasMoved: boolean;
}
