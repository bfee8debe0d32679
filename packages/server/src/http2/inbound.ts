/** What a connection takes in: frames one by one, as far as the turn and the work that is already under way allow. */
import { type Frame, FrameReader } from "./frame-reader.ts";
import type { Intake } from "./intake.ts";
import type { ServerStream } from "./server-stream.ts";

export interface InboundOptions {
  readonly intake: Intake;
  /** Takes up reading where it was left, by `next`. */
  readonly readOn: () => void;
  /** Nothing more is to be delivered, and again something is. What comes all the same is kept. */
  readonly hold: (isHeld: boolean) => void;
}

export class Inbound {
  readonly #options: InboundOptions;
  readonly #frames = new FrameReader();
  #turn = -1;
  /** What was taken in this turn. */
  #units = 0;
  #atWork = 0;
  #isHeld = false;
  /** A turn was asked for. */
  #isWaiting = false;

  constructor(options: InboundOptions) {
    this.#options = options;
  }

  arrived(bytes: Buffer): void {
    this.#frames.push(bytes);
  }

  /** The next frame; undefined when there is none, or none may be taken now. */
  next(): Frame | undefined {
    if (this.#mustWait()) {
      this.#hold(true);
      if (!this.#isOccupied()) this.#askForTurn();
      return undefined;
    }
    const frame = this.#frames.next();
    if (frame === undefined) this.#hold(false);
    return frame;
  }

  /** A request was read, or so many bytes of one. */
  spend(units: number): void {
    const { intake } = this.#options;
    if (this.#turn !== intake.turn) {
      this.#turn = intake.turn;
      this.#units = 0;
    }
    this.#units += units;
    intake.spend(units);
  }

  spendBytes(bytes: number): void {
    this.spend(bytes / this.#options.intake.limits.bytesPerUnit);
  }

  /** The request is here with all its body; until it is answered it counts as work. */
  received(stream: ServerStream): void {
    if (stream.isAtWork || stream.isClosed || stream.isBegun) return;
    stream.isAtWork = true;
    this.#atWork++;
  }

  answered(stream: ServerStream): void {
    if (!stream.isAtWork) return;
    stream.isAtWork = false;
    this.#atWork--;
    if (this.#isHeld && !this.#isOccupied()) this.#askForTurn();
  }

  #isOccupied(): boolean {
    return this.#atWork >= this.#options.intake.limits.atWorkMax;
  }

  #mustWait(): boolean {
    if (this.#isOccupied()) return true;
    const { intake } = this.#options;
    if (this.#turn !== intake.turn) return false;
    const { unitsPerConnectionMax, unitsFree } = intake.limits;
    return this.#units >= unitsPerConnectionMax || (this.#units >= unitsFree && !intake.isOpen);
  }

  #hold(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#options.hold(isHeld);
  }

  #askForTurn(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#options.intake.wait(this.#goOn);
  }

  readonly #goOn = (): void => {
    this.#isWaiting = false;
    this.#options.readOn();
  };
}
