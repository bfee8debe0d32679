/**
 * How much is taken in during one turn of the event loop, over all connections of a listener.
 *
 * One thread serves everybody: a client that sends a thousand requests at once would be heard to their end before the next client is
 * heard at all. What a turn has no room for stays with its sender, who is not read from until there is room: neither its
 * requests nor their bodies take memory here.
 */
export interface IntakeLimits {
  /** Requests, or as many times `bytesPerUnit`, that are taken in one turn. */
  readonly unitsPerTurnMax: number;
  /** The same of one connection. */
  readonly unitsPerConnectionMax: number;
  /** What a connection may always send in a turn, however much others did: who asks for little never waits here. */
  readonly unitsFree: number;
  readonly bytesPerUnit: number;
  /** Requests of one connection that are being worked on. Answers that go on, such as watches, are not. */
  readonly atWorkMax: number;
  /** The same of all connections together, but for `unitsFree` of each. */
  readonly atWorkOfAllMax: number;
  /** Requests of all connections whose bodies are waited for before they begin. */
  readonly arrivingMax: number;
}

export const intakeDefaults: IntakeLimits = {
  unitsPerTurnMax: 64,
  unitsPerConnectionMax: 32,
  unitsFree: 4,
  bytesPerUnit: 8 << 10,
  atWorkMax: 64,
  atWorkOfAllMax: 128,
  arrivingMax: 2048,
};

export class Intake {
  readonly limits: IntakeLimits;
  readonly #nextTurn: (callback: () => void) => void;
  #left: number;
  #turn = 0;
  #isScheduled = false;
  #waiting: (() => void)[] = [];
  #atWork = 0;
  #arriving = 0;
  /** Those who wait until less is worked on. */
  readonly #forRoom = new Set<() => void>();

  /** `nextTurn` is `setImmediate` but for tests. */
  constructor(
    limits: IntakeLimits = intakeDefaults,
    nextTurn: (callback: () => void) => void = setImmediate,
  ) {
    this.limits = limits;
    this.#nextTurn = nextTurn;
    this.#left = limits.unitsPerTurnMax;
  }

  /** Changes from turn to turn. */
  get turn(): number {
    return this.#turn;
  }

  get isOpen(): boolean {
    return this.#left > 0;
  }

  spend(units: number): void {
    this.#left -= units;
    this.#schedule();
  }

  get hasRoom(): boolean {
    return this.#atWork < this.limits.atWorkOfAllMax;
  }

  begun(): void {
    this.#atWork++;
  }

  /** A request is to wait for its body; false when too many do. */
  arriving(): boolean {
    if (this.#arriving >= this.limits.arrivingMax) return false;
    this.#arriving++;
    return true;
  }

  arrived(): void {
    this.#arriving--;
  }

  ended(): void {
    this.#atWork--;
    if (this.#forRoom.size === 0 || !this.hasRoom) return;
    for (const first of this.#forRoom) {
      this.#forRoom.delete(first);
      this.wait(first);
      return;
    }
  }

  /** Calls back when less is worked on. */
  waitForRoom(goOn: () => void): void {
    this.#forRoom.add(goOn);
  }

  forget(goOn: () => void): void {
    this.#forRoom.delete(goOn);
  }

  /** Calls back in a turn that has room, soon. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#begin);
  }

  readonly #begin = (): void => {
    this.#isScheduled = false;
    this.#turn++;
    this.#left = this.limits.unitsPerTurnMax;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    let at = 0;
    while (at < waiting.length && this.isOpen) (waiting[at++] as () => void)();
    // Those who had no turn come first in the next one.
    if (at === waiting.length) return;
    this.#waiting = [...waiting.slice(at), ...this.#waiting];
    this.#schedule();
  };
}
