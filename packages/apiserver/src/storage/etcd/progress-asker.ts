/**
 * Gets a watch to say how far it has come.
 *
 *   idle --request--> asked --answer--> idle
 *   asked --request--> asked, and once more after the answer, which may be older than the second request
 *   asked --stream lost--> asked as soon as there is a stream again
 *
 * A trusted member is sent progress requests. For the others (see member.ts) the events themselves have told most often
 * after a moment; if not, a mark is written into the history that the watch will see.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { Revision } from "../revision.ts";

export interface ProgressRequesterContext {
  readonly clock: Clock;
  readonly currentRevision: () => Promise<Revision>;
  /** Puts a mark into the history that every watch of everything sees; resolves to its revision. */
  readonly writeMark: () => Promise<Revision>;
}

export interface ProgressStream {
  /** Its member answers progress requests truthfully. */
  readonly trusted: boolean;
  /** There is no history between `seen` and the present. */
  readonly caughtUp: boolean;
  sendProgressRequest(): void;
  /** What the watch has passed on so far. */
  seen(): Revision;
  /** The reader should hear that the watch has come as far as `seen`. */
  tell(): void;
}

export class ProgressRequester {
  readonly #context: ProgressRequesterContext;
  #stream: ProgressStream | undefined;
  #asked = false;
  #askAgain = false;
  #timer: Timer | undefined;
  /** The revision of the mark that will be the answer. */
  #mark: Revision | undefined;

  constructor(context: ProgressRequesterContext) {
    this.#context = context;
  }

  /** Somebody wants to hear of a revision that is no older than the newest one at this call. False without a stream. */
  request(): boolean {
    if (this.#asked || this.#stream === undefined) this.#askAgain = true;
    else this.#ask(this.#stream);
    return this.#stream !== undefined;
  }

  /** A stream has begun; the reader hears when it has caught up. */
  attach(stream: ProgressStream): void {
    this.#stream = stream;
    if (stream.caughtUp) stream.tell();
    if (!stream.caughtUp || this.#askAgain) this.#ask(stream);
    this.#askAgain = false;
  }

  /** The stream is gone, and with it the answer. */
  detach(): void {
    if (this.#asked) this.#askAgain = true;
    this.#stream = undefined;
    this.#settle();
  }

  /** etcd has answered a progress request, or told of its own accord. */
  answered(): void {
    this.#settle();
    if (!this.#askAgain || this.#stream === undefined) return;
    this.#askAgain = false;
    this.#ask(this.#stream);
  }

  /** The watch came to a mark. It may be somebody else's and too old to be the answer. */
  sawMark(revision: Revision): void {
    if (this.#mark !== undefined && revision >= this.#mark) this.answered();
  }

  #ask(stream: ProgressStream): void {
    this.#asked = true;
    // etcd drops requests while the watch is catching up, so they are repeated until an answer comes.
    if (stream.trusted) {
      stream.sendProgressRequest();
      this.#schedule(repeatMs, () => this.#ask(stream));
    } else {
      this.#schedule(markAfterMs, () => void this.#askByMark(stream));
    }
  }

  async #askByMark(stream: ProgressStream): Promise<void> {
    const { currentRevision, writeMark } = this.#context;
    const over = () => this.#stream !== stream || !this.#asked;
    try {
      const newest = await currentRevision();
      if (over()) return;
      const mark = stream.seen() >= newest ? newest : await writeMark();
      if (over()) return;
      this.#mark = mark;
      if (stream.seen() < mark) return;
      stream.tell();
      this.answered();
    } catch {
      // Health knows why; the request stays open and is made again.
      if (!over()) this.#schedule(markRepeatMs, () => void this.#askByMark(stream));
    }
  }

  #schedule(delayMs: number, action: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#context.clock.schedule(delayMs, action);
  }

  #settle(): void {
    this.#asked = false;
    this.#mark = undefined;
    this.#timer?.cancel();
  }
}

const repeatMs = 100;
/** Events get this long to make a mark unnecessary, which is a write. */
const markAfterMs = 30;
const markRepeatMs = 500;
