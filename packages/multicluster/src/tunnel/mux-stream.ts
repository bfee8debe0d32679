/**
 * One stream through a tunnel, as a Duplex. What comes in waits here until it is read, and no more comes than was allowed; what goes out
 * waits for the other side's allowance and for its turn among the streams.
 */
import { Duplex } from "node:stream";
import { creditBytesMax, dataBytesMax, firstCreditBytes } from "./mux-frames.ts";

export interface MuxStreamOptions {
  readonly id: number;
  /** The stream has something to send, and may. */
  readonly onReady: (stream: MuxStream) => void;
  readonly sendCredit: (bytes: number) => void;
  readonly sendEnd: () => void;
  /** `reason` undefined: both sides had ended. */
  readonly onGone: (reason: string | undefined) => void;
  /** How much more than before the other side may be given; the tunnel as a whole has a limit. */
  readonly mayGrow: (bytes: number) => number;
}

/** The other side does not keep to the protocol. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
}

export class MuxStream extends Duplex {
  readonly id: number;
  readonly #options: MuxStreamOptions;
  /** What the other side may still send, and what it may send when all is read. */
  #allowed = firstCreditBytes;
  #window = firstCreditBytes;
  #inbound: Buffer[] = [];
  #isReaderWaiting = false;
  #hasRemoteEnded = false;
  #readSinceCredit = 0;
  #credit = firstCreditBytes;
  #outbound: Buffer = Buffer.alloc(0);
  #written: (() => void) | undefined;
  #finished: (() => void) | undefined;
  #isReset = false;

  constructor(options: MuxStreamOptions) {
    super({ readableHighWaterMark: dataBytesMax, writableHighWaterMark: dataBytesMax });
    this.id = options.id;
    this.#options = options;
  }

  /** What this stream may make wait here. */
  get windowBytes(): number {
    return this.#window;
  }

  /** Throws a TunnelError at more than is allowed. */
  received(bytes: Buffer): void {
    this.#allowed -= bytes.length;
    if (this.#allowed < 0) throw new TunnelError(`stream ${this.id} was sent more than allowed`);
    if (this.#isReaderWaiting && this.#inbound.length === 0) this.#give(bytes);
    else this.#inbound.push(bytes);
  }

  remoteEnded(): void {
    this.#hasRemoteEnded = true;
    if (this.#inbound.length === 0) this.push(null);
  }

  /** What was sent before its end is still read; what is written here from now on goes nowhere. */
  remoteReset(reason: string): void {
    this.#isReset = true;
    if (!this.#hasRemoteEnded) {
      this.destroy(new Error(reason));
      return;
    }
    this.#outbound = Buffer.alloc(0);
    this.outboundTaken();
    if (this.readableEnded) this.destroy();
    else this.once("end", () => this.destroy());
  }

  credited(bytes: number): void {
    this.#credit += bytes;
    if (this.#outbound.length > 0) this.#options.onReady(this);
  }

  /** At most one message's worth; undefined when there is nothing, or no credit for it. */
  takeOutbound(): Buffer | undefined {
    const bytes = Math.min(this.#outbound.length, this.#credit, dataBytesMax);
    if (bytes === 0) return undefined;
    const taken = this.#outbound.subarray(0, bytes);
    this.#outbound = this.#outbound.subarray(bytes);
    this.#credit -= bytes;
    return taken;
  }

  get hasOutbound(): boolean {
    return this.#outbound.length > 0 && this.#credit > 0;
  }

  /** After `takeOutbound`: who waits for all of it to go may go on. */
  outboundTaken(): void {
    if (this.#outbound.length > 0) return;
    const written = this.#written;
    this.#written = undefined;
    written?.();
    const finished = this.#finished;
    this.#finished = undefined;
    finished?.();
  }

  override _read(): void {
    this.#isReaderWaiting = true;
    while (this.#isReaderWaiting) {
      const next = this.#inbound.shift();
      if (next === undefined) break;
      this.#give(next);
    }
    if (this.#hasRemoteEnded && this.#inbound.length === 0) this.push(null);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#outbound = this.#isReset ? Buffer.alloc(0) : chunk;
    this.#written = done;
    if (this.#outbound.length === 0) this.outboundTaken();
    else this.#options.onReady(this);
  }

  override _final(done: () => void): void {
    this.#finished = () => {
      if (!this.#isReset) this.#options.sendEnd();
      done();
    };
    if (this.#outbound.length === 0) this.outboundTaken();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#inbound = [];
    const isComplete = this.#hasRemoteEnded && this.writableFinished;
    const reason = error?.message ?? "the other side went away";
    this.#options.onGone(isComplete || this.#isReset ? undefined : reason);
    done(error);
  }

  #give(bytes: Buffer): void {
    this.#readSinceCredit += bytes.length;
    this.#isReaderWaiting = this.push(bytes);
    if (this.#readSinceCredit < this.#window / 2) return;
    // Who has read everything is faster than what comes: the way is long, and more may be under way.
    const keepsUp = this.#inbound.length === 0 && this.#isReaderWaiting;
    const wanted = keepsUp ? Math.min(this.#window, creditBytesMax - this.#window) : 0;
    const more = wanted > 0 ? this.#options.mayGrow(wanted) : 0;
    this.#window += more;
    const granted = this.#readSinceCredit + more;
    this.#readSinceCredit = 0;
    this.#allowed += granted;
    this.#options.sendCredit(granted);
  }
}
