/**
 * One change can concern ten thousand watches. They hear of it some at a time, with turns of the event loop in between, each of every change
 * in order.
 *
 * Few watches hear of a change at once, as everybody else does: that is the rule, and what follows is for crowds. A crowd is walked
 * through, over many turns, and whoever is visited is told all that happened since his last visit: a crowd that is behind costs no more visits, only
 * longer answers. A watch whose reader is slow is passed over for a while and costs nothing meanwhile.
 */
import { systemClock } from "@kcp-ts/machinery/base";
import {
  EventLoopBudget,
  eventLoopCosts,
  eventLoopLimits,
  type NextTurn,
} from "../event-loop/index.ts";
import type { EventLogSize, WatcherCursor, WatcherGroup } from "./crowd.ts";
import type { HubEvent } from "./hub-event.ts";
import { EventRange } from "./run.ts";

const fanOutLimits = eventLoopLimits.fanOut;
const fanOutCosts = eventLoopCosts.fanOut;

export interface FanOutOptions {
  /** `setImmediate` but for tests. */
  readonly nextTurn?: NextTurn | undefined;
  /** Some time later, by the world's clock: what is spread is work of this thread, whatever the server's clock says. */
  readonly later?: (callback: () => void) => void;
}

export class FanOut {
  readonly #budget: EventLoopBudget;
  readonly #later: (callback: () => void) => void;
  /** Crowds with something to tell, in the order of their turns. */
  readonly #behind = new Set<WatcherGroup>();
  /** Crowds in which all who are behind have slow readers. */
  readonly #held = new Set<WatcherGroup>();
  /** To be given to every crowd. */
  readonly logs: EventLogSize = { bytes: 0 };
  #isLaterScheduled = false;

  constructor({ nextTurn, later = scheduleBackpressureRetry }: FanOutOptions = {}) {
    const perTurn = fanOutLimits.microsPerTurn;
    this.#budget = new EventLoopBudget({ perTurn, nextTurn, onTurn: () => this.#tellSome() });
    this.#later = later;
  }

  tell(crowd: WatcherGroup, event: HubEvent): void {
    const { places } = crowd;
    const isDirect = places.size <= fanOutLimits.directMax && this.#budget.isOpen;
    if (isDirect && crowd.size === 0) {
      this.#budget.spend(places.size * fanOutCosts.direct);
      for (const { member } of places) member.onEvent(event);
      return;
    }
    crowd.push(event);
    this.#keepBounds(crowd);
    this.#held.delete(crowd);
    this.#behind.add(crowd);
    this.#budget.wake();
  }

  /** They were told of their loss, and hear nothing more. */
  forget(crowd: WatcherGroup): void {
    this.#behind.delete(crowd);
    this.#held.delete(crowd);
    crowd.forget();
  }

  /** A quarter goes at once, so that it is not done for every change. Who is not that far yet is ended when he is visited. */
  #keepBounds(crowd: WatcherGroup): void {
    const { backlogEventsMax, backlogBytesMax, allBacklogsBytesMax } = fanOutLimits;
    if (crowd.size > backlogEventsMax || crowd.bytes > backlogBytesMax) this.#shorten(crowd);
    if (this.logs.bytes <= allBacklogsBytesMax) return;
    let largest = crowd;
    for (const crowds of [this.#behind, this.#held])
      for (const each of crowds) if (each.bytes > largest.bytes) largest = each;
    this.#shorten(largest, largest.bytes / 2);
    this.#held.delete(largest);
    this.#behind.add(largest);
  }

  #shorten(crowd: WatcherGroup, bytesMax: number = fanOutLimits.backlogBytesMax * 0.75): void {
    const eventsMax = fanOutLimits.backlogEventsMax * 0.75;
    let start = crowd.start;
    let bytes = crowd.bytes;
    while (crowd.end - start > eventsMax || bytes > bytesMax) bytes -= crowd.at(start++).bytes;
    crowd.dropBefore(start);
  }

  /** Says whether there is more to tell. */
  #tellSome(): boolean {
    while (this.#budget.isOpen && this.#behind.size > 0) {
      const share = this.#budget.left / this.#behind.size;
      for (const crowd of [...this.#behind]) {
        if (!this.#budget.isOpen) break;
        this.#behind.delete(crowd);
        const state = this.#walk(crowd, Math.min(share, this.#budget.left));
        if (state === "goes on") this.#behind.add(crowd);
        else if (state === "held") this.#hold(crowd);
      }
    }
    return this.#behind.size > 0;
  }

  /** Visits as many as the budget allows. */
  #walk(crowd: WatcherGroup, budget: number): "done" | "goes on" | "held" {
    let left = budget;
    let state: "done" | "goes on" | "held" = "goes on";
    while (left > 0 && state === "goes on") {
      crowd.pass ??= startPass(crowd);
      const { value: place, done } = crowd.pass.rest.next();
      left -= fanOutCosts.visit;
      if (done === true) state = endPass(crowd);
      else if (place.next < crowd.end) left -= deliverTo(crowd, place);
    }
    this.#budget.spend(budget - left);
    return state;
  }

  #hold(crowd: WatcherGroup): void {
    this.#held.add(crowd);
    if (this.#isLaterScheduled) return;
    this.#isLaterScheduled = true;
    this.#later(this.#lookAtHeld);
  }

  readonly #lookAtHeld = (): void => {
    this.#isLaterScheduled = false;
    for (const crowd of this.#held) this.#behind.add(crowd);
    this.#held.clear();
    if (this.#behind.size > 0) this.#budget.wake();
  };
}

/** Over all when there is something new, else over those who are behind. */
function startPass(crowd: WatcherGroup) {
  const isOverAll = crowd.toldTo < crowd.end;
  // A set's iterator also visits those who join meanwhile: they are at its end.
  const rest = (isOverAll ? crowd.places : crowd.behind).values();
  return { rest, isOverAll, to: crowd.end, hasMoved: false };
}

function endPass(crowd: WatcherGroup): "done" | "goes on" | "held" {
  const { to, isOverAll, hasMoved } = crowd.pass as NonNullable<WatcherGroup["pass"]>;
  crowd.pass = undefined;
  if (isOverAll) crowd.toldTo = to;
  let lowest = crowd.toldTo;
  for (const { next } of crowd.behind) if (next < lowest) lowest = next;
  crowd.dropBefore(lowest);
  if (crowd.size === 0) return "done";
  return hasMoved || crowd.toldTo < crowd.end ? "goes on" : "held";
}

/** Tells one watch what it has not heard; says what that costs. */
function deliverTo(crowd: WatcherGroup, place: WatcherCursor): number {
  const { member } = place;
  const pass = crowd.pass as NonNullable<WatcherGroup["pass"]>;
  if (place.next < crowd.start) {
    pass.hasMoved = true;
    crowd.leave(place);
    member.onLeftBehind();
    return fanOutCosts.ending;
  }
  if (member.isHeld && crowd.end - place.next <= fanOutLimits.heldEventsMax) {
    crowd.behind.add(place);
    return 0;
  }
  pass.hasMoved = true;
  const run = new EventRange(crowd.segmentOf(place.next), place.next);
  place.next = run.to;
  const bytes = member.onRun(run);
  if (place.next < pass.to) crowd.behind.add(place);
  else crowd.behind.delete(place);
  const looked = run.length * fanOutCosts.event;
  return bytes === 0 ? looked : looked + fanOutCosts.send + bytes * fanOutCosts.byte;
}

function scheduleBackpressureRetry(callback: () => void): void {
  systemClock.schedule(fanOutLimits.heldMs, callback);
}
