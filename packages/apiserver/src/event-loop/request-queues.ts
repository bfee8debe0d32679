/**
 * The queues of requests besides those of priority levels: large requests run one after the other,
 * watches open at a limited rate, and reads of one object bypass waiting requests.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { statusError } from "@kcp-ts/machinery/status";
import { FairQueue, type QueueItem } from "./fair-queue.ts";
import { eventLoopLimits } from "./limits.ts";

export const retryAfterSeconds = 1;

/**
 * The rejection of a request that cannot wait. One shared error, so that mass rejections do not
 * each capture a stack.
 */
export const tooBusy = statusError.tooManyRequests(retryAfterSeconds);

export interface QueueableRequest {
  /** The tenant that the request counts for. */
  readonly tenantKey: string;
  readonly signal: AbortSignal;
}

interface Waiting<Request> extends QueueItem {
  readonly request: Request;
  readonly resume: () => void;
  readonly refuse: (error: unknown) => void;
}

interface QueueLimits {
  readonly waitingPerFlowMax: number;
  readonly waitingMax: number;
}

/**
 * Requests that wait in fair order until they are resumed or their clients disconnect. Both the
 * requests of one flow and all requests are limited.
 */
class RequestQueue<Request extends QueueableRequest> {
  readonly #queue = new FairQueue<Waiting<Request>>();
  readonly #waiting = new Map<Request, Waiting<Request>>();
  readonly #limits: QueueLimits;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#queue.size;
  }

  wait(flow: string, request: Request): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal, tenantKey: cluster } = request;
      const onAbort = () => this.leave(request);
      const waiting: Waiting<Request> = {
        cluster,
        flow,
        cost: 1000,
        request,
        resume: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
        refuse: (error) => {
          signal.removeEventListener("abort", onAbort);
          reject(error);
        },
      };
      this.#queue.push(waiting);
      this.#waiting.set(request, waiting);
      signal.addEventListener("abort", onAbort, { once: true });
      const { waitingPerFlowMax, waitingMax } = this.#limits;
      if (signal.aborted) this.#drop(waiting, signal.reason);
      else if (this.#queue.lengthOf(waiting) > waitingPerFlowMax) this.#drop(waiting, tooBusy);
      else if (this.#queue.size > waitingMax)
        this.#drop(this.#queue.newestOfLongest() as Waiting<Request>, tooBusy);
    });
  }

  /** Resumes the next request; `onNext` is called before it resumes. */
  resumeNext(onNext?: (request: Request) => void): void {
    const waiting = this.#queue.select();
    if (waiting === undefined) return;
    this.#queue.take(waiting);
    this.#waiting.delete(waiting.request);
    onNext?.(waiting.request);
    waiting.resume();
  }

  /** Removes a request; does nothing for a request that is not in this queue. */
  leave(request: Request): void {
    const waiting = this.#waiting.get(request);
    if (waiting !== undefined) this.#drop(waiting, request.signal.reason ?? tooBusy);
  }

  #drop(waiting: Waiting<Request>, error: unknown): void {
    if (!this.#queue.remove(waiting)) return;
    this.#waiting.delete(waiting.request);
    waiting.refuse(error);
  }
}

/**
 * LargeRequestQueue runs large requests one after the other, over all priority levels: each blocks
 * the thread for some milliseconds at a time, and several concurrent ones would do so in the same
 * turn. While other tenants are at work, the queue also pauses after each request for twice its
 * duration, so that large requests never use more than a third of the time.
 */
export class LargeRequestQueue {
  readonly #clock: Clock;
  readonly #queue = new RequestQueue<QueueableRequest>(eventLoopLimits.largeRequests);
  current: QueueableRequest | undefined;
  #since = 0;
  /** Whether a request of another tenant has started since. */
  #isContended = false;
  #rest: Timer | undefined;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** Undefined when the request may proceed now. */
  enter(flow: string, request: QueueableRequest): Promise<void> | undefined {
    if (this.current === undefined && this.#rest === undefined && this.#queue.size === 0) {
      this.#begin(request);
      return undefined;
    }
    return this.#queue.wait(flow, request);
  }

  /**
   * Ends a request that is finished, or whose client has disconnected. Does nothing for a request
   * that is not in this queue.
   */
  leave(request: QueueableRequest): void {
    if (this.current === request) this.#end();
    else this.#queue.leave(request);
  }

  /**
   * Notes that a request of any size has started; unnecessary when no large request is in flight.
   */
  noteBegun({ tenantKey }: QueueableRequest): void {
    const current = this.current;
    if (current !== undefined && tenantKey !== current.tenantKey) this.#isContended = true;
  }

  #begin(request: QueueableRequest): void {
    this.current = request;
    this.#since = this.#clock.monotonic();
    this.#isContended = false;
  }

  #end(): void {
    const tookMs = this.#clock.monotonic() - this.#since;
    this.current = undefined;
    if (!this.#isContended) {
      this.#next();
      return;
    }
    const { restFactor, restMaxMs } = eventLoopLimits.largeRequests;
    this.#rest = this.#clock.schedule(Math.min(tookMs * restFactor, restMaxMs), () => {
      this.#rest = undefined;
      this.#next();
    });
  }

  #next(): void {
    this.#queue.resumeNext((request) => this.#begin(request));
  }
}

export interface WatchOpenLimiterOptions {
  readonly clock: Clock;
  /** Whether more than one tenant is at work. */
  readonly isContended: () => boolean;
}

/**
 * WatchOpenLimiter limits the rate at which watches open while other tenants are at work.
 *
 * The memory of a watch lives as long as the watch, so each garbage collection copies the memory of
 * the watches opened since the last one: ten thousand at once block the thread for ten milliseconds
 * at a time, regardless of the cost of each. Some hundred watches may open at once, which is enough
 * for a starting client; a tenant that is alone has no limit.
 */
export class WatchOpenLimiter {
  readonly #options: WatchOpenLimiterOptions;
  readonly #queue = new RequestQueue<QueueableRequest>(eventLoopLimits.watchOpens);
  #credit: number = eventLoopLimits.watchOpens.burstMax;
  #countedAt: number;
  #timer: Timer | undefined;

  constructor(options: WatchOpenLimiterOptions) {
    this.#options = options;
    this.#countedAt = options.clock.monotonic();
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Undefined when the watch may open now. */
  enter(flow: string, request: QueueableRequest): Promise<void> | undefined {
    this.#earn();
    if (this.#queue.size === 0 && (this.#credit >= 1 || !this.#options.isContended())) {
      this.#credit = Math.max(0, this.#credit - 1);
      return undefined;
    }
    const waiting = this.#queue.wait(flow, request);
    this.#wake();
    return waiting;
  }

  /** Removes a request; does nothing for a request that is not in this queue. */
  leave(request: QueueableRequest): void {
    this.#queue.leave(request);
  }

  #earn(): void {
    const now = this.#options.clock.monotonic();
    const { perSecond, burstMax } = eventLoopLimits.watchOpens;
    const earned = ((now - this.#countedAt) / 1000) * perSecond;
    this.#credit = Math.min(burstMax, this.#credit + earned);
    this.#countedAt = now;
  }

  #wake(): void {
    if (this.#timer !== undefined || this.#queue.size === 0) return;
    this.#timer = this.#options.clock.schedule(eventLoopLimits.watchOpens.intervalMs, () => {
      this.#timer = undefined;
      this.#openSome();
      this.#wake();
    });
  }

  /**
   * Opens as many watches as the credit allows; a few more each time when the other tenants have
   * become idle.
   */
  #openSome(): void {
    this.#earn();
    const { perSecond, intervalMs } = eventLoopLimits.watchOpens;
    const few = Math.ceil((perSecond / 1000) * intervalMs);
    const isContended = this.#options.isContended();
    let left = isContended ? Math.min(few, Math.floor(this.#credit)) : 10 * few;
    for (; left > 0 && this.#queue.size > 0; left--) {
      this.#credit = Math.max(0, this.#credit - 1);
      this.#queue.resumeNext();
    }
  }
}

/**
 * SmallRequestBypass: a cheap request of a tenant without waiting requests starts in the turn in
 * which it arrives, even if the budget of the turn is spent or other requests wait. The bypass is
 * limited for each tenant and for all.
 */
export class SmallRequestBypass {
  readonly #spent = new Map<string, number>();
  #turn = -1;
  #left = 0;

  /** Deducts the cost from the allowance of this turn, if the allowance is sufficient. */
  allows(turn: number, tenantKey: string, micros: number): boolean {
    const { microsMax, microsPerTenant, microsPerTurn } = eventLoopLimits.smallRequestBypass;
    if (micros > microsMax) return false;
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#left = microsPerTurn;
      this.#spent.clear();
    }
    const spent = (this.#spent.get(tenantKey) ?? 0) + micros;
    if (spent > microsPerTenant || micros > this.#left) return false;
    this.#left -= micros;
    this.#spent.set(tenantKey, spent);
    return true;
  }
}
