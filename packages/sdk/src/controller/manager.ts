/**
 * Manager: runs clusters and controllers together; with leader election, the controllers run only
 * while this process leads.
 *
 * Caches stay in sync also while another process leads, so that a failover takes no time.
 */
import { type Clock, systemClock, TaskGroup } from "@kcp-ts/machinery/base";
import { onAbort } from "../client/index.ts";
import type { LeaderElector, Leadership } from "../leader-election/index.ts";
import type { Clusters } from "./clusters.ts";
import type { Controller } from "./controller.ts";
import { HealthChecks } from "./health.ts";

/** How long a new leader waits for its caches. */
const catchUpMs = 10_000;

export interface ManagerOptions {
  readonly clusters: readonly Clusters[];
  readonly controllers: readonly Controller[];
  readonly elector?: LeaderElector;
  readonly clock?: Clock;
  /**
   * Called with the reason of a failed health check, for a log: the response does not contain it.
   */
  readonly onUnhealthy?: (check: string, reason: unknown) => void;
}

export class LeadershipLostError extends Error {
  /** A build may shorten the name of the class, which uncaught errors are printed with. */
  static override readonly name: string = "LeadershipLostError";
  override readonly name = "LeadershipLostError";
}

/**
 * A manager's `health` fails when this process keeps working although it has lost its Lease, so
 * that the kubelet restarts it; `readiness` fails until the caches have synced. A process that
 * waits for leadership is both healthy and ready.
 */
export class Manager {
  readonly health: HealthChecks;
  readonly readiness: HealthChecks;
  readonly #options: ManagerOptions;
  #leadership: Leadership | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { clusters, onUnhealthy } = options;
    this.health = new HealthChecks(onUnhealthy).add("ping", () => {});
    this.readiness = new HealthChecks(onUnhealthy).add("informers", () => {
      if (clusters.some((one) => !one.hasSynced)) throw new Error("not all sources have a state");
    });
    if (options.elector === undefined) return;
    this.health.add("leaderElection", () => {
      if (this.#leadership?.isHeld() === false) throw new Error("works without the lease");
    });
  }

  /**
   * Resolves when the signal has aborted and all work is finished. Rejects with LeadershipLost when
   * another process leads: the program should exit then and be restarted.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clusters, controllers, elector } = this.#options;
    // Sources outlive the controllers: a reconcile in flight still reads them.
    const sources = new AbortController();
    const working = new TaskGroup(signal);
    const running = Promise.all(clusters.map((one) => one.run(sources.signal)));
    running.catch((error) => working.fail(error));
    if (elector !== undefined) working.start((stop) => this.#workWhileLeading(elector, stop));
    else for (const one of controllers) working.start((stop) => one.run({ signal: stop }));
    try {
      await working.join();
    } finally {
      sources.abort();
      await running;
    }
  }

  /** A leader who does not know what the one before it wrote would do it again. */
  async #catchUp(signal: AbortSignal, workSignal: AbortSignal): Promise<void> {
    const { clusters, clock = systemClock } = this.#options;
    const given = new AbortController();
    const giveUp = () => given.abort();
    const forget = [signal, workSignal].map((one) => onAbort(one, giveUp));
    // A server that is down holds up nobody else.
    const timer = clock.schedule(catchUpMs, giveUp);
    try {
      await Promise.all(clusters.map((one) => one.refreshed?.(given.signal)));
    } catch (error) {
      if (!given.signal.aborted) throw error;
    } finally {
      timer.cancel();
      for (const one of forget) one();
    }
  }

  async #workWhileLeading(elector: LeaderElector, signal: AbortSignal): Promise<void> {
    let isLost = false;
    const ended = new AbortController();
    const stop = () => ended.abort();
    onAbort(signal, stop);
    await elector.run(ended.signal, async (leadership) => {
      const workSignal = leadership.signal;
      this.#leadership = leadership;
      try {
        if (leadership.fencingToken > 0) await this.#catchUp(signal, workSignal);
        await Promise.all(this.#options.controllers.map((one) => one.run({ signal, workSignal })));
      } finally {
        this.#leadership = undefined;
      }
      isLost = leadership.signal.aborted;
      stop();
    });
    if (isLost) throw new LeadershipLostError("another process leads now");
  }
}
