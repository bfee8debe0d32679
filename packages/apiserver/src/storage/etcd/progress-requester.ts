/**
 * Makes a watch report its progress.
 *
 *   idle --request--> asked --response--> idle
 *   asked --request--> asked, and once more after the response, which may be older than the second request
 *   asked --stream lost--> asked as soon as there is a stream again
 *
 * A trusted member is sent progress requests. For other members (see member.ts) events usually
 * report the progress after a moment; if not, a marker is written into the history, which the watch
 * will see.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { Revision } from "../revision.ts";

export interface ProgressRequesterContext {
  readonly clock: Clock;
  readonly currentRevision: () => Promise<Revision>;
  /**
   * Writes a marker into the history that every watch of everything sees; resolves to its revision.
   */
  readonly writeMarker: () => Promise<Revision>;
}

export interface ProgressStream {
  /** Whether the member's responses to progress requests are correct. */
  readonly trusted: boolean;
  /** Whether there is no history between `seen` and the present. */
  readonly caughtUp: boolean;
  sendProgressRequest(): void;
  /** The revision that the watch has delivered so far. */
  seen(): Revision;
  /** Sends the reader a progress mark with `seen`. */
  notifyProgress(): void;
}

export class ProgressRequester {
  readonly #context: ProgressRequesterContext;
  #stream: ProgressStream | undefined;
  #isPending = false;
  #isRequestedAgain = false;
  #timer: Timer | undefined;
  /** The revision of the marker that will be the response. */
  #markerRevision: Revision | undefined;

  constructor(context: ProgressRequesterContext) {
    this.#context = context;
  }

  /**
   * Requests a progress mark that is no older than the newest revision at this call. False without
   * a stream.
   */
  request(): boolean {
    if (this.#isPending || this.#stream === undefined) this.#isRequestedAgain = true;
    else this.#send(this.#stream);
    return this.#stream !== undefined;
  }

  /** A stream has begun; the reader gets a mark when it has caught up. */
  attach(stream: ProgressStream): void {
    this.#stream = stream;
    if (stream.caughtUp) stream.notifyProgress();
    if (!stream.caughtUp || this.#isRequestedAgain) this.#send(stream);
    this.#isRequestedAgain = false;
  }

  /** The stream is lost, and with it the response. */
  detach(): void {
    if (this.#isPending) this.#isRequestedAgain = true;
    this.#stream = undefined;
    this.#clearPending();
  }

  /** etcd has responded to a progress request, or reported progress by itself. */
  onProgress(): void {
    this.#clearPending();
    if (!this.#isRequestedAgain || this.#stream === undefined) return;
    this.#isRequestedAgain = false;
    this.#send(this.#stream);
  }

  /**
   * The watch reached a marker. Another server may have written it, and it may be too old to be the
   * response.
   */
  onMarker(revision: Revision): void {
    if (this.#markerRevision !== undefined && revision >= this.#markerRevision) this.onProgress();
  }

  #send(stream: ProgressStream): void {
    this.#isPending = true;
    // etcd drops requests while the watch is catching up, so they are repeated until a response
    // comes.
    if (stream.trusted) {
      stream.sendProgressRequest();
      this.#schedule(repeatMs, () => this.#send(stream));
    } else {
      this.#schedule(markAfterMs, () => void this.#sendMarker(stream));
    }
  }

  async #sendMarker(stream: ProgressStream): Promise<void> {
    const { currentRevision, writeMarker } = this.#context;
    const over = () => this.#stream !== stream || !this.#isPending;
    try {
      const newest = await currentRevision();
      if (over()) return;
      const mark = stream.seen() >= newest ? newest : await writeMarker();
      if (over()) return;
      this.#markerRevision = mark;
      if (stream.seen() < mark) return;
      stream.notifyProgress();
      this.onProgress();
    } catch {
      // Health reports the error; the request stays open and is repeated.
      if (!over()) this.#schedule(markRepeatMs, () => void this.#sendMarker(stream));
    }
  }

  #schedule(delayMs: number, action: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#context.clock.schedule(delayMs, action);
  }

  #clearPending(): void {
    this.#isPending = false;
    this.#markerRevision = undefined;
    this.#timer?.cancel();
  }
}

const repeatMs = 100;
/** The time for events to make a marker unnecessary, which is a write. */
const markAfterMs = 30;
const markRepeatMs = 500;
