/**
 * A channel to a group of equal endpoints: one connection at a time, sticky while it works,
 * replaced when it fails.
 *
 *   connected --(connection ends, or is reported)--> dialing --(an endpoint responds)--> connected
 *   dialing --(every endpoint has failed for outageGraceMs)--> calls fail at once, dialing continues
 *
 * A short outage makes calls wait, a long one makes them fail fast. The callers retry calls.
 */
import { assert, type Clock, type Random, sleep } from "@kcp-ts/machinery/base";
import { Connection, type ConnectionOptions } from "./connection.ts";
import type { TlsOptions } from "./dial.ts";
import type { Endpoint } from "./endpoint.ts";
import { type GrpcError, OutageError } from "./grpc-error.ts";

export interface ChannelOptions extends Omit<ConnectionOptions, "tls"> {
  readonly endpoints: readonly Endpoint[];
  readonly random: Random;
  /** Read at each new connection, so that renewed certificates are picked up. */
  readonly tls?: (() => TlsOptions) | undefined;
  /** Checks whether a new connection may be used; a rejection counts like a failure to connect. */
  readonly admit?: ((connection: Connection) => Promise<void>) | undefined;
  /** The time that calls wait for a connection after the last endpoint failed. */
  readonly outageGraceMs: number;
}

export class Channel {
  readonly #options: ChannelOptions;
  readonly #clock: Clock;
  readonly #targets: Target[];
  readonly #connections = new Set<Connection>();
  readonly #closing = new AbortController();
  #cursor = 0;
  #current: Connection | undefined;
  #dialing = false;
  #downSinceMs: number | undefined;
  #waiters = new Set<Waiter>();

  constructor(options: ChannelOptions) {
    assert(options.endpoints.length > 0, "a channel needs an endpoint");
    this.#options = options;
    this.#clock = options.clock;
    this.#targets = shuffled(options.endpoints, options.random).map((endpoint) => ({
      endpoint,
      failures: 0,
      notBeforeMs: 0,
      problem: undefined,
    }));
  }

  /** A connection to call on. Rejects with `OutageError`, or with the signal's reason. */
  async acquire(options: { timeoutMs: number; signal: AbortSignal }): Promise<Connection> {
    const { signal, timeoutMs } = options;
    signal.throwIfAborted();
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason;
    if (this.#current?.usable) return this.#current;
    this.#dial();
    if (this.#outageIsLong()) throw this.#outage();
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiters.delete(waiter);
        timer.cancel();
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = () => waiter.reject(signal.reason);
      const waiter: Waiter = {
        resolve: (connection) => {
          settle();
          resolve(connection);
        },
        reject: (reason) => {
          settle();
          reject(reason);
        },
      };
      const timer = this.#clock.schedule(timeoutMs, () => waiter.reject(this.#outage()));
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** The connection responded: clears the failures of its endpoint. */
  reportSuccess(connection: Connection): void {
    const target = this.#targetOf(connection);
    target.failures = 0;
    target.notBeforeMs = 0;
    target.problem = undefined;
  }

  /**
   * The endpoint of the connection cannot serve, although it may be connected: new calls use
   * another one. Open calls, watches above all, stay unless the peer turns out to be gone.
   */
  reportFailure(connection: Connection, error: GrpcError): void {
    if (error.delivery === "unknown") connection.verify();
    if (connection !== this.#current) return;
    this.#penalize(this.#targetOf(connection), error.message);
    if (this.#targets.length === 1 || !this.#targets.some((target) => this.#isReady(target)))
      return;
    this.#current = undefined;
    connection.retire();
  }

  /** The reason why there is no connection; undefined while there is one. */
  problem(): string | undefined {
    if (this.#current?.usable) return undefined;
    const known = this.#targets.filter((target) => target.problem !== undefined);
    if (known.length === 0) return undefined;
    return known.map(({ endpoint, problem }) => `${endpoint.name}: ${problem}`).join("; ");
  }

  close(reason: Error): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(reason);
    for (const waiter of [...this.#waiters]) waiter.reject(reason);
    for (const connection of [...this.#connections]) connection.destroy(reason.message);
  }

  #dial(): void {
    if (this.#dialing) return;
    this.#dialing = true;
    this.#dialUntilConnected().then(
      (connection) => this.#adopt(connection),
      (error: unknown) => {
        this.#dialing = false;
        for (const waiter of [...this.#waiters]) waiter.reject(error);
      },
    );
  }

  async #dialUntilConnected(): Promise<Connection> {
    const { signal } = this.#closing;
    for (;;) {
      const target = this.#nextTarget();
      const waitMs = target.notBeforeMs - this.#clock.monotonic();
      if (waitMs > 0) await sleep(this.#clock, waitMs, signal);
      signal.throwIfAborted();
      try {
        return await this.#open(target.endpoint);
      } catch (error) {
        signal.throwIfAborted();
        this.#penalize(target, (error as Error).message.replace(`${target.endpoint.name}: `, ""));
        this.#noteOutage();
      }
    }
  }

  async #open(endpoint: Endpoint): Promise<Connection> {
    const connection = await Connection.open(endpoint, {
      ...this.#options,
      tls: this.#options.tls?.(),
    });
    this.#connections.add(connection);
    connection.onClosed(() => this.#connections.delete(connection));
    try {
      this.#closing.signal.throwIfAborted();
      await this.#options.admit?.(connection);
      return connection;
    } catch (error) {
      connection.destroy("the endpoint was not admitted");
      throw error;
    }
  }

  #adopt(connection: Connection): void {
    this.#dialing = false;
    if (this.#closing.signal.aborted) return;
    this.#current = connection;
    this.#downSinceMs = undefined;
    connection.onUnusable(() => {
      if (this.#current !== connection) return;
      this.#current = undefined;
      this.#penalize(this.#targetOf(connection), "the connection was lost");
    });
    for (const waiter of [...this.#waiters]) waiter.resolve(connection);
  }

  /** The endpoint that may be dialed first; of equals, the one after the last dialed. */
  #nextTarget(): Target {
    const now = this.#clock.monotonic();
    const due = (target: Target) => Math.max(target.notBeforeMs, now);
    let best = this.#cursor;
    for (let step = 1; step <= this.#targets.length; step++) {
      const index = (this.#cursor + step) % this.#targets.length;
      if (step === 1 || due(this.#target(index)) < due(this.#target(best))) best = index;
    }
    this.#cursor = best;
    return this.#target(best);
  }

  #penalize(target: Target, problem: string): void {
    target.failures++;
    target.problem = problem;
    const fullMs = Math.min(backoffMaxMs, backoffBaseMs * 2 ** Math.min(target.failures - 1, 16));
    const delayMs = fullMs * (0.5 + this.#options.random.next() / 2);
    target.notBeforeMs = this.#clock.monotonic() + delayMs;
  }

  #noteOutage(): void {
    if (!this.#targets.every((target) => target.failures > 0)) return;
    this.#downSinceMs ??= this.#clock.monotonic();
    if (!this.#outageIsLong()) return;
    for (const waiter of [...this.#waiters]) waiter.reject(this.#outage());
  }

  #outageIsLong(): boolean {
    const since = this.#downSinceMs;
    return since !== undefined && this.#clock.monotonic() - since >= this.#options.outageGraceMs;
  }

  #outage(): OutageError {
    const problem = this.problem() ?? "no endpoint has answered yet";
    return new OutageError(`no connection (${problem})`);
  }

  #isReady(target: Target): boolean {
    return target.notBeforeMs <= this.#clock.monotonic();
  }

  #targetOf(connection: Connection): Target {
    const target = this.#targets.find(({ endpoint }) => endpoint === connection.endpoint);
    assert(target !== undefined, "a connection of another channel");
    return target;
  }

  #target(index: number): Target {
    const target = this.#targets[index];
    assert(target !== undefined, "a channel has at least one endpoint");
    return target;
  }
}

interface Target {
  readonly endpoint: Endpoint;
  failures: number;
  notBeforeMs: number;
  problem: string | undefined;
}

interface Waiter {
  resolve(connection: Connection): void;
  reject(reason: unknown): void;
}

const backoffBaseMs = 50;
const backoffMaxMs = 2000;

/** Shuffles, so that many servers with the same list of endpoints spread over all of them. */
function shuffled<T>(values: readonly T[], random: Random): T[] {
  const result = [...values];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}
