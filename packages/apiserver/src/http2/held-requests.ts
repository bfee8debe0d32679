/** The requests of a connection that begin when more of the answers before them was read, and what waits of these. */
import type { Backlog } from "./backlog.ts";
import type { Intake } from "./intake.ts";
import type { ServerStream } from "./server-stream.ts";

export interface HeldRequestsOptions {
  readonly backlog: Backlog;
  readonly intake: Intake;
  readonly begin: (stream: ServerStream) => void;
}

export class HeldRequests {
  readonly #options: HeldRequestsOptions;
  readonly #held = new Set<ServerStream>();
  #queuedBytes = 0;
  #isBeginning = false;

  constructor(options: HeldRequestsOptions) {
    this.#options = options;
  }

  /** Of answers that wait to be sent. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Begins it now or later. What comes is still read: it may be the windows that are waited for. */
  add(stream: ServerStream): void {
    if (this.#held.size === 0 && this.#isRoom()) {
      this.#options.begin(stream);
      return;
    }
    stream.isHeld = true;
    this.#held.add(stream);
  }

  delete(stream: ServerStream): void {
    this.#held.delete(stream);
  }

  clear(): void {
    this.#held.clear();
  }

  /** So many bytes of an answer wait; negative when they no longer do. */
  queued(bytes: number): void {
    this.#queuedBytes += bytes;
    this.#options.backlog.add(bytes);
    if (this.#held.size > 0 && this.#isRoom()) this.#askForTurn();
  }

  #isRoom(): boolean {
    return this.#options.backlog.allows(this.#queuedBytes);
  }

  #askForTurn(): void {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    this.#options.intake.wait(this.#beginSome);
  }

  readonly #beginSome = (): void => {
    this.#isBeginning = false;
    const { intake, begin } = this.#options;
    let left = intake.limits.unitsFree;
    for (const stream of this.#held) {
      if (!this.#isRoom()) return;
      if (left-- === 0) {
        this.#askForTurn();
        return;
      }
      this.#held.delete(stream);
      stream.isHeld = false;
      intake.spend(1);
      begin(stream);
    }
  };
}
