/**
 * Sends one event to up to ten thousand watches, some at a time, with turns of the event loop in
 * between, and each watch gets every event in order.
 *
 * A small group is notified at once, as other listeners are: that is the common case, and the rest
 * of this file is for large groups. A pass over a large group takes many turns, and each visited
 * watch is sent all events since its last visit: a group that is behind costs no more visits, only
 * longer writes. A watch with a slow reader is skipped for a while and costs nothing meanwhile.
 */
import { systemClock } from "@kcp-ts/machinery/base";
import {
  EventLoopBudget,
  eventLoopCosts,
  eventLoopLimits,
  type NextTurn,
} from "../event-loop/index.ts";
import { EventRange } from "./event-range.ts";
import type { HubEvent } from "./hub-event.ts";
import type { EventLogSize, WatcherCursor, WatcherGroup } from "./watcher-group.ts";

const fanOutLimits = eventLoopLimits.fanOut;
const fanOutCosts = eventLoopCosts.fanOut;

export interface FanOutOptions {
  /** `setImmediate` except in tests. */
  readonly scheduleImmediate?: NextTurn | undefined;
  /**
   * Calls back some time later, by the system clock: spreading is about the work of this thread,
   * not about the server's clock.
   */
  readonly scheduleRetry?: (callback: () => void) => void;
}

export class FanOut {
  readonly #budget: EventLoopBudget;
  readonly #scheduleRetry: (callback: () => void) => void;
  /** Groups with unsent events, in the order of their turns. */
  readonly #lagging = new Set<WatcherGroup>();
  /** Groups in which all lagging watches have slow readers. */
  readonly #backpressured = new Set<WatcherGroup>();
  /** Shared by all groups. */
  readonly logSize: EventLogSize = { bytes: 0 };
  #isRetryScheduled = false;

  constructor({
    scheduleImmediate: nextTurn,
    scheduleRetry = scheduleBackpressureRetry,
  }: FanOutOptions = {}) {
    const perTurn = fanOutLimits.microsPerTurn;
    this.#budget = new EventLoopBudget({ perTurn, nextTurn, onTurn: () => this.#tellSome() });
    this.#scheduleRetry = scheduleRetry;
  }

  publish(group: WatcherGroup, event: HubEvent): void {
    const { cursors } = group;
    const isDirect = cursors.size <= fanOutLimits.directMax && this.#budget.isOpen;
    if (isDirect && group.start === group.end) {
      this.#budget.spend(cursors.size * fanOutCosts.direct);
      for (const { watcher } of cursors) watcher.onEvent(event);
      return;
    }
    group.push(event);
    this.#enforceLimits(group);
    this.#backpressured.delete(group);
    this.#lagging.add(group);
    this.#budget.wake();
  }

  /** The watches of the group were notified of the loss, and get no more events. */
  remove(group: WatcherGroup): void {
    this.#lagging.delete(group);
    this.#backpressured.delete(group);
    group.clear();
  }

  /**
   * Drops a quarter of the log at once, so that not every event does it. Watches that lose events
   * are ended when they are visited.
   */
  #enforceLimits(group: WatcherGroup): void {
    const { backlogEventsMax, backlogBytesMax, allBacklogsBytesMax } = fanOutLimits;
    if (group.size > backlogEventsMax || group.bytes > backlogBytesMax) this.#truncate(group);
    if (this.logSize.bytes <= allBacklogsBytesMax) return;
    let largest = group;
    for (const watcherGroups of [this.#lagging, this.#backpressured])
      for (const each of watcherGroups) if (each.bytes > largest.bytes) largest = each;
    this.#truncate(largest, largest.bytes / 2);
    this.#backpressured.delete(largest);
    this.#lagging.add(largest);
  }

  #truncate(group: WatcherGroup, bytesMax: number = fanOutLimits.backlogBytesMax * 0.75): void {
    const eventsMax = fanOutLimits.backlogEventsMax * 0.75;
    let start = group.start;
    let bytes = group.bytes;
    while (group.end - start > eventsMax || bytes > bytesMax) bytes -= group.at(start++).bytes;
    group.dropBefore(start);
  }

  /** Returns whether unsent events remain. */
  #tellSome(): boolean {
    while (this.#budget.isOpen && this.#lagging.size > 0) {
      const share = this.#budget.left / this.#lagging.size;
      for (const watcherGroup of [...this.#lagging]) {
        if (!this.#budget.isOpen) break;
        this.#lagging.delete(watcherGroup);
        const state = this.#advancePass(watcherGroup, Math.min(share, this.#budget.left));
        if (state === "goes on") this.#lagging.add(watcherGroup);
        else if (state === "held") this.#pauseGroup(watcherGroup);
      }
    }
    return this.#lagging.size > 0;
  }

  /** Visits as many watches as the budget allows. */
  #advancePass(group: WatcherGroup, budget: number): "done" | "goes on" | "held" {
    let left = budget;
    let state: "done" | "goes on" | "held" = "goes on";
    while (left > 0 && state === "goes on") {
      group.pass ??= startPass(group);
      const { value: place, done } = group.pass.remaining.next();
      left -= fanOutCosts.visit;
      if (done === true) state = endPass(group);
      else if (place.next < group.end) left -= deliverTo(group, place);
    }
    this.#budget.spend(budget - left);
    return state;
  }

  #pauseGroup(group: WatcherGroup): void {
    this.#backpressured.add(group);
    if (this.#isRetryScheduled) return;
    this.#isRetryScheduled = true;
    this.#scheduleRetry(this.#retryBackpressured);
  }

  readonly #retryBackpressured = (): void => {
    this.#isRetryScheduled = false;
    for (const watcherGroup of this.#backpressured) this.#lagging.add(watcherGroup);
    this.#backpressured.clear();
    if (this.#lagging.size > 0) this.#budget.wake();
  };
}

/** Passes over all watches when there are new events, otherwise over the lagging ones. */
function startPass(group: WatcherGroup) {
  const coversAll = group.deliveredTo < group.end;
  // A set's iterator also visits watches that join meanwhile: they are at its end.
  const remaining = (coversAll ? group.cursors : group.lagging).values();
  return { remaining, coversAll, to: group.end, madeProgress: false };
}

function endPass(group: WatcherGroup): "done" | "goes on" | "held" {
  const { to, coversAll, madeProgress } = group.pass as NonNullable<WatcherGroup["pass"]>;
  group.pass = undefined;
  if (coversAll) group.deliveredTo = to;
  let lowest = group.deliveredTo;
  for (const { next } of group.lagging) if (next < lowest) lowest = next;
  group.dropBefore(lowest);
  if (group.size === 0) return "done";
  return madeProgress || group.deliveredTo < group.end ? "goes on" : "held";
}

/** Sends one watch its unsent events; returns the cost. */
function deliverTo(group: WatcherGroup, cursor: WatcherCursor): number {
  const { watcher } = cursor;
  const pass = group.pass as NonNullable<WatcherGroup["pass"]>;
  if (cursor.next < group.start) {
    pass.madeProgress = true;
    group.remove(cursor);
    watcher.onFellBehind();
    return fanOutCosts.ending;
  }
  if (watcher.isBackpressured && group.end - cursor.next <= fanOutLimits.heldEventsMax) {
    group.lagging.add(cursor);
    return 0;
  }
  pass.madeProgress = true;
  const run = new EventRange(group.segmentOf(cursor.next), cursor.next);
  cursor.next = run.to;
  const bytes = watcher.onEventRange(run);
  if (cursor.next < pass.to) group.lagging.add(cursor);
  else group.lagging.delete(cursor);
  const looked = run.length * fanOutCosts.event;
  return bytes === 0 ? looked : looked + fanOutCosts.send + bytes * fanOutCosts.byte;
}

function scheduleBackpressureRetry(callback: () => void): void {
  systemClock.schedule(fanOutLimits.heldMs, callback);
}
