/**
 * The pace of streams: chunks of lists and events of watches that are ready to be written.
 *
 * One change can wake ten thousand watches of one tenant in one turn. What a turn has no room for is written in the next ones, each
 * logical cluster getting its share of them.
 */
import { FairQueue, type Queued } from "./fair-queue.ts";
import { Turn, type TurnOptions } from "./turn.ts";

interface Ready extends Queued {
  readonly go: () => void;
}

/** A write, and making the next chunk. */
const writeMicros = 15;
const byteMicros = 1 / 250;

export class Pacer {
  readonly #queue = new FairQueue<Ready>();
  readonly #turn: Turn;

  constructor(options: Omit<TurnOptions, "onTurn">) {
    this.#turn = new Turn({ ...options, onTurn: () => this.#goOn() });
  }

  /** To be asked before each write: undefined when it may be done now. */
  paceOf(
    cluster: string,
    flow: string,
    microsPerByte = byteMicros,
  ): (bytes: number) => Promise<void> | undefined {
    return (bytes) => this.pace(cluster, flow, writeMicros + bytes * microsPerByte);
  }

  /** The same without a promise: true when it may be done now; else `go` is called when it may. */
  callingPaceOf(
    cluster: string,
    flow: string,
    microsPerByte = byteMicros,
  ): (bytes: number, go: () => void) => boolean {
    return (bytes, go) => this.#mayGo(cluster, flow, writeMicros + bytes * microsPerByte, go);
  }

  /** Others are at work beside whoever writes. */
  noteCompany(): void {
    this.#turn.noteCompany();
  }

  pace(cluster: string, flow: string, cost: number): Promise<void> | undefined {
    if (this.#isFree(cost)) return undefined;
    return new Promise((go) => this.#wait({ cluster, flow, cost, go }));
  }

  #mayGo(cluster: string, flow: string, cost: number, go: () => void): boolean {
    if (this.#isFree(cost)) return true;
    this.#wait({ cluster, flow, cost, go });
    return false;
  }

  #isFree(cost: number): boolean {
    if (this.#queue.size > 0 || !this.#turn.isOpen) return false;
    this.#turn.spend(cost);
    return true;
  }

  #wait(ready: Ready): void {
    this.#queue.push(ready);
    this.#turn.wake();
  }

  #goOn(): boolean {
    while (this.#turn.isOpen) {
      const ready = this.#queue.select();
      if (ready === undefined) return false;
      this.#queue.take(ready);
      this.#turn.spend(ready.cost);
      ready.go();
    }
    return this.#queue.size > 0;
  }
}
