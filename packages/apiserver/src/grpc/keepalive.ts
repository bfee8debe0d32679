/**
 * Detects a peer that is gone although the connection looks open.
 *
 * Pings only while calls are open and no data has arrived for a while: etcd (grpc-go) ends
 * connections that ping more often than every five seconds, or at all without open calls.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

export interface KeepaliveOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Sends a ping; false when it cannot be sent. */
  readonly ping: (onAnswer: () => void) => boolean;
  readonly onDead: (silentMs: number) => void;
}

export class Keepalive {
  readonly #options: KeepaliveOptions;
  #heardAt: number;
  /** Whether calls are open. */
  #active = false;
  #check: Timer | undefined;
  #answer: Timer | undefined;

  constructor(options: KeepaliveOptions) {
    this.#options = options;
    this.#heardAt = options.clock.monotonic();
  }

  /** Called when data arrived. */
  heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }

  /**
   * Calls are open from now on. A connection that was idle for long is pinged with a short timeout.
   */
  start(): void {
    const { intervalMs } = this.#options;
    this.#active = true;
    this.#scheduleCheck(this.#silentMs() >= intervalMs ? Math.min(intervalMs, wakeMs) : intervalMs);
  }

  /** No calls are open; also drops a ping in flight. */
  stop(): void {
    this.#active = false;
    this.#check?.cancel();
    this.#answer?.cancel();
    this.#check = undefined;
    this.#answer = undefined;
  }

  /** Pings now, unless a ping is in flight. */
  verify(): void {
    if (this.#answer !== undefined) return;
    this.#check?.cancel();
    this.#check = undefined;
    const sentAt = this.#options.clock.monotonic();
    const sent = this.#options.ping(() => {
      this.heard();
      this.#answer?.cancel();
      this.#answer = undefined;
      this.#scheduleCheck(this.#options.intervalMs);
    });
    this.#answer = this.#options.clock.schedule(sent ? this.#options.timeoutMs : 0, () => {
      this.#answer = undefined;
      // Data without a response to the ping is a sign of life, too.
      if (this.#heardAt >= sentAt) this.#scheduleCheck(this.#options.intervalMs);
      else this.#options.onDead(this.#silentMs());
    });
  }

  #scheduleCheck(delayMs: number): void {
    this.#check?.cancel();
    this.#check = undefined;
    if (!this.#active) return;
    this.#check = this.#options.clock.schedule(delayMs, () => {
      this.#check = undefined;
      const leftMs = this.#options.intervalMs - this.#silentMs();
      if (leftMs > 0) this.#scheduleCheck(leftMs);
      else this.verify();
    });
  }

  #silentMs(): number {
    return this.#options.clock.monotonic() - this.#heardAt;
  }
}

const wakeMs = 1000;
