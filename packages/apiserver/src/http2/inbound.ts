/** What a connection takes in: frames one by one, as far as the turn and the work that is already under way allow. */
import type { InboundBudget } from "../event-loop/index.ts";
import { type Frame, FrameReader } from "./frame-reader.ts";
import type { ServerStream } from "./server-stream.ts";

export interface InboundOptions {
  readonly budget: InboundBudget;
  /** Takes up reading where it was left, by `next`. */
  readonly readOn: () => void;
  /** Nothing more is to be delivered, and again something is. What comes all the same is kept. */
  readonly hold: (isHeld: boolean) => void;
}

export class Inbound extends FrameReader {
  readonly #options: InboundOptions;
  #turn = -1;
  /** What was taken in this turn. */
  #units = 0;
  #atWork = 0;
  #isHeld = false;
  /** A turn was asked for. */
  #isWaiting = false;

  constructor(options: InboundOptions) {
    super();
    this.#options = options;
  }

  /** The next frame; undefined when there is none, or none may be taken now. */
  override next(): Frame | undefined {
    const { budget } = this.#options;
    const { atWorkMax, unitsFree } = budget.limits;
    if (this.isEmpty) this.#hold(false);
    else if (this.#atWork >= atWorkMax) this.#hold(true);
    else if (this.#atWork >= unitsFree && !budget.hasRoom) {
      this.#hold(true);
      budget.waitForRoom(this.#goOn);
    } else if (this.#isTurnOver()) {
      this.#hold(true);
      this.#askForTurn();
    } else {
      const frame = super.next();
      if (frame === undefined) this.#hold(false);
      return frame;
    }
    return undefined;
  }

  /** A request was read, or so many bytes of one. */
  spend(units: number): void {
    const { budget } = this.#options;
    if (this.#turn !== budget.turn) {
      this.#turn = budget.turn;
      this.#units = 0;
    }
    this.#units += units;
    budget.spend(units);
  }

  spendBytes(bytes: number): void {
    this.spend(bytes / this.#options.budget.limits.bytesPerUnit);
  }

  /** The request is here with all its body; until it is answered it counts as work. */
  received(stream: ServerStream): void {
    if (stream.isAtWork || stream.isClosed || stream.isBegun || stream.isQueued) return;
    stream.isAtWork = true;
    this.#atWork++;
    this.#options.budget.begun();
  }

  answered(stream: ServerStream): void {
    if (!stream.isAtWork) return;
    stream.isAtWork = false;
    const { budget } = this.#options;
    const { atWorkMax, unitsFree } = budget.limits;
    const isRoomMade = this.#atWork >= atWorkMax;
    this.#atWork--;
    budget.ended();
    if (this.#isHeld && (isRoomMade || this.#atWork < unitsFree)) this.#askForTurn();
  }

  /** Nothing more will be read. */
  closed(): void {
    this.#options.budget.forget(this.#goOn);
  }

  /** What is free is free for those who come anew, not for those who are held back. */
  #isTurnOver(): boolean {
    const { budget } = this.#options;
    const { unitsPerConnectionMax, unitsFree } = budget.limits;
    const units = this.#turn === budget.turn ? this.#units : 0;
    return (
      units >= unitsPerConnectionMax || (!budget.isOpen && (this.#isHeld || units >= unitsFree))
    );
  }

  #hold(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#options.hold(isHeld);
  }

  #askForTurn(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#options.budget.wait(this.#goOn);
  }

  readonly #goOn = (): void => {
    this.#isWaiting = false;
    this.#options.readOn();
  };
}
