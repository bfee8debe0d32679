/**
 * One change can concern ten thousand watches. They hear of it some at a time, with turns of the event loop in between, and of each change
 * before the next one.
 *
 * Few watches hear of a change at once, as everybody else does: that is the rule, and what follows is for crowds.
 */
import type { HubEvent } from "./hub-event.ts";

export interface CrowdMember {
  onEvent(event: HubEvent): void;
  /** It is too far behind to be told any more. */
  onLeftBehind(): void;
}

export const fanOutLimits = {
  /** Watches of one prefix that are told at once. */
  directMax: 16,
  /** Watches that are told in one turn, of all prefixes. */
  toldPerTurnMax: 128,
  /** Changes that a crowd may be behind. */
  backlogEventsMax: 4096,
  backlogBytesMax: 16 << 20,
} as const;

/** The watches of one prefix. */
export class Crowd {
  readonly members = new Set<CrowdMember>();
  readonly backlog: HubEvent[] = [];
  backlogBytes = 0;
  /** Those who have not heard of the first change of the backlog yet. */
  rest: Iterator<CrowdMember> | undefined;
}

export class FanOut {
  readonly #nextTurn: (callback: () => void) => void;
  /** Crowds with a backlog, in the order of their turns. */
  readonly #behind = new Set<Crowd>();
  #left: number = fanOutLimits.toldPerTurnMax;
  #isScheduled = false;

  constructor(nextTurn: (callback: () => void) => void = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  tell(crowd: Crowd, event: HubEvent): void {
    const { members, backlog } = crowd;
    const isDirect = members.size <= fanOutLimits.directMax && this.#left > 0;
    if (isDirect && backlog.length === 0) {
      this.#left -= members.size;
      for (const member of members) member.onEvent(event);
      this.#schedule();
      return;
    }
    backlog.push(event);
    crowd.backlogBytes += event.bytes;
    this.#behind.add(crowd);
    this.#schedule();
    const { backlogEventsMax, backlogBytesMax } = fanOutLimits;
    if (backlog.length > backlogEventsMax || crowd.backlogBytes > backlogBytesMax)
      this.#giveUp(crowd);
  }

  /** They were told of their loss, and hear nothing more. */
  forget(crowd: Crowd): void {
    this.#behind.delete(crowd);
    crowd.backlog.length = 0;
    crowd.backlogBytes = 0;
    crowd.rest = undefined;
  }

  #giveUp(crowd: Crowd): void {
    this.forget(crowd);
    for (const member of [...crowd.members]) member.onLeftBehind();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#left = fanOutLimits.toldPerTurnMax;
    while (this.#left > 0 && this.#behind.size > 0) {
      const share = Math.max(1, Math.floor(this.#left / this.#behind.size));
      for (const crowd of [...this.#behind]) {
        if (this.#left <= 0) break;
        this.#behind.delete(crowd);
        this.#tellSome(crowd, Math.min(share, this.#left));
        if (crowd.backlog.length > 0) this.#behind.add(crowd);
      }
    }
    if (this.#behind.size > 0) this.#schedule();
  };

  #tellSome(crowd: Crowd, count: number): void {
    let left = count;
    while (left > 0) {
      const event = crowd.backlog[0];
      if (event === undefined) break;
      // A set's iterator also visits those who join meanwhile: they know what is older than themselves.
      crowd.rest ??= crowd.members.values();
      const { value, done } = crowd.rest.next();
      if (done === true) {
        crowd.rest = undefined;
        crowd.backlog.shift();
        crowd.backlogBytes -= event.bytes;
        event.forgetEncoded();
        left--;
        continue;
      }
      value.onEvent(event);
      left--;
    }
    this.#left -= count - left;
  }
}
