/**
 * LeaderElector: of all processes that compete for a Lease, at most one leads, and the leader knows
 * when its lease is no longer certain.
 *
 * Leadership ends on the leader's own clock before the lease can expire for others, whatever the
 * network does. Fencing protects against requests that were sent before and arrive later: see
 * `fencedTransport` and `Leadership.fencingToken`.
 */
import { assert, type Clock, type Random } from "@kcp-ts/machinery/base";
import { type Client, type ObjectName, pause, startDeadline } from "../client/index.ts";
import type { Gauge, MetricsRegistry } from "../metrics/index.ts";
import {
  type ElectionCommand,
  type ElectionEvent,
  type ElectionState,
  holdsLease,
  initialElectionStep,
  nextElectionStep,
} from "./election-machine.ts";
import { LeaseLock } from "./lease-lock.ts";

export interface LeaderElectorOptions {
  readonly client: Client;
  readonly lease: ObjectName;
  /** Unique among all candidates: the host's name and a random suffix. */
  readonly identity: string;
  /** How long other candidates wait for a leader that does not renew (leaseDuration). */
  readonly leaseDurationMs?: number;
  /** How long a leader that cannot renew keeps leading (renewDeadline); must be shorter. */
  readonly renewDeadlineMs?: number;
  /** Between attempts (retryPeriod). */
  readonly retryPeriodMs?: number;
  readonly metrics?: MetricsRegistry;
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly random?: Random;
}

export interface Leadership {
  /** Aborts when leadership is lost. */
  readonly signal: AbortSignal;
  /**
   * Greater than that of every previous leader: for systems that can reject requests of an old
   * leader.
   */
  readonly fencingToken: number;
  /**
   * Reads the clock: false as soon as another candidate could lead, also when the event loop was
   * blocked and no timer fired.
   */
  isHeld(): boolean;
}

interface Term {
  readonly done: Promise<void>;
  /** Aborts when `lead` has ended by itself. */
  readonly over: AbortSignal;
  end(reason: Error): void;
}

export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #lock: LeaseLock;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #step = initialElectionStep;
  #heldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? options.client.clock;
    this.#random = options.random ?? options.client.random;
    const leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = options.retryPeriodMs ?? 2000;
    assert(leaseDurationMs > this.#renewDeadlineMs, "a lease must outlast its renew deadline");
    assert(this.#renewDeadlineMs > this.#retryPeriodMs * jitterFactor, "retries must be frequent");
    this.#lock = new LeaseLock({ ...options, leaseDurationMs, clock: this.#clock });
  }

  get state(): ElectionState {
    return this.#step.state;
  }

  /** The current leader, as far as this candidate knows. */
  get holder(): string {
    return this.#lock.holder;
  }

  /**
   * Competes until the signal aborts, and calls `lead` each time it acquires the lease. When
   * leadership is lost, `lead` must end soon after its signal aborts; competing continues after it.
   * When `lead` ends by itself, the lease is released and this promise resolves, or rejects as
   * `lead` did. While `lead` ends after an abort of `signal`, the lease is kept.
   */
  async run(signal: AbortSignal, lead: (leadership: Leadership) => Promise<void>): Promise<void> {
    let term: Term | undefined;
    this.#step = nextElectionStep(this.#step, "start");
    this.#metric();
    while (this.#step.state !== "stopped") {
      const before = this.#step;
      const event = await this.#perform(before.command, term?.over ?? signal);
      this.#step = nextElectionStep(before, event);
      if (!holdsLease(before.state) && holdsLease(this.#step.state)) {
        term = this.#begin(lead);
        this.#setMetric(1);
      } else if (holdsLease(before.state) && !holdsLease(this.#step.state)) {
        this.#setMetric(0);
        if (this.#step.state !== "releasing") {
          this.#heldUntilMs = Number.NEGATIVE_INFINITY;
          term?.end(new Error(`leadership was lost: ${event}`));
          await term?.done;
          term = undefined;
        }
      }
    }
    await term?.done;
  }

  #begin(lead: (leadership: Leadership) => Promise<void>): Term {
    const lost = new AbortController();
    const over = new AbortController();
    const leadership = {
      signal: lost.signal,
      fencingToken: this.#lock.transitions,
      isHeld: () => !lost.signal.aborted && this.#clock.monotonic() < this.#heldUntilMs,
    };
    const done = (async () => {
      try {
        await lead(leadership);
      } finally {
        over.abort();
      }
    })();
    // The awaiting caller of `done` gets the rejection; until then it must not count as unhandled.
    done.catch(() => {});
    return { done, over: over.signal, end: (reason) => lost.abort(reason) };
  }

  async #perform(command: ElectionCommand, stop: AbortSignal): Promise<ElectionEvent> {
    if (stop.aborted && command !== "release") return "stop";
    const isLeader = holdsLease(this.#step.state);
    try {
      switch (command) {
        case "nothing":
          return "stop";
        case "wait":
          return await this.#wait(stop, isLeader);
        case "try":
        case "renew":
          return await this.#callLock(command, stop);
        case "release":
          await this.#limited(this.#retryPeriodMs, undefined, (signal) =>
            this.#lock.release({ signal }),
          );
          return "released";
      }
    } catch (error) {
      if (stop.aborted && command !== "release") return "stop";
      this.#options.onError?.(error);
      return isLeader && this.#clock.monotonic() >= this.#heldUntilMs ? "expired" : "failed";
    }
  }

  async #wait(stop: AbortSignal, isLeader: boolean): Promise<ElectionEvent> {
    const jitter = isLeader ? 1 : 1 + (jitterFactor - 1) * this.#random.next();
    const leftMs = this.#heldUntilMs - this.#clock.monotonic();
    const waitMs = isLeader
      ? Math.max(0, Math.min(this.#retryPeriodMs, leftMs))
      : this.#retryPeriodMs * jitter;
    await pause(this.#clock, waitMs, stop);
    return isLeader && this.#clock.monotonic() >= this.#heldUntilMs ? "expired" : "elapsed";
  }

  /**
   * The lease counts from the time of the request, not of the response: other candidates may have
   * seen it that early.
   */
  async #callLock(command: "try" | "renew", stop: AbortSignal): Promise<ElectionEvent> {
    const askedAtMs = this.#clock.monotonic();
    const limitMs = command === "try" ? this.#renewDeadlineMs : this.#heldUntilMs - askedAtMs;
    const outcome = await this.#limited(limitMs, stop, (signal) =>
      command === "try" ? this.#lock.acquire({ signal }) : this.#lock.renew({ signal }),
    );
    if (outcome === "lost") return "lost";
    const heldUntilMs = askedAtMs + this.#renewDeadlineMs;
    if (this.#clock.monotonic() >= heldUntilMs) return command === "try" ? "failed" : "expired";
    this.#heldUntilMs = heldUntilMs;
    return "won";
  }

  async #limited<Result>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const what = "asking for the lease";
    const deadline = startDeadline({ clock: this.#clock, timeoutMs, signal, what });
    try {
      return await work(deadline.signal);
    } finally {
      deadline.cancel();
    }
  }

  #setMetric(value: number): void {
    this.#metric()?.set(value);
  }

  /** Set also where the value is unchanged: a candidate that never led reports 0, not nothing. */
  #metric(): Gauge | undefined {
    return this.#options.metrics
      ?.gauge(leaderStatusMetric)
      .with({ name: this.#options.lease.name });
  }
}

export const leaderStatusMetric = {
  name: "leader_election_master_status",
  help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.",
  labels: ["name"],
} as const;

/** client-go's jitter: candidates do not all send requests in the same moment. */
const jitterFactor = 1.2;
