/**
 * One stream through a tunnel, as a Duplex. Inbound bytes are buffered until they are read, within
 * the granted credit; outbound bytes wait for the credit of the other side and for their turn among
 * the streams.
 */
import { Duplex } from "node:stream";
import { creditBytesMax, dataBytesMax, firstCreditBytes } from "./mux-frames.ts";

export interface MuxStreamOptions {
  readonly id: number;
  /** The stream has bytes to send, and the credit for it. */
  readonly onReady: (stream: MuxStream) => void;
  readonly sendCredit: (bytes: number) => void;
  readonly sendEnd: () => void;
  /** `reason` undefined: both sides have ended the stream. */
  readonly onGone: (reason: string | undefined) => void;
  /** How much more credit than before may be granted; the tunnel has a limit for all streams. */
  readonly mayGrow: (bytes: number) => number;
}

/** The other side violates the protocol. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
}

export class MuxStream extends Duplex {
  readonly id: number;
  readonly #options: MuxStreamOptions;
  /**
   * The credit that the other side has left, and the credit that it has when all bytes are read.
   */
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

  /** The most bytes that this stream may buffer here. */
  get windowBytes(): number {
    return this.#window;
  }

  /** Throws a TunnelError when the credit is exceeded. */
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

  /**
   * Bytes that were sent before the end are still read; bytes that are written from now on are
   * dropped.
   */
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

  /** At most one message; undefined when there are no bytes, or no credit for them. */
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

  /** Called after `takeOutbound`: completes writes that waited for it. */
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
    // A reader that has read everything is faster than the connection: the latency is high, and
    // more bytes may be in flight.
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
