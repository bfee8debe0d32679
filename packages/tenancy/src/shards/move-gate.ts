/**
 * Holds back writes of a logical cluster while the last changes of its move are copied. They wait
 * in front of the pipeline, with nothing read, and go on to the shard that has the cluster then.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";

export interface MoveGateOptions {
  readonly clock: Clock;
  /** How long a write waits before it is rejected with 503. */
  readonly waitMs?: number | undefined;
}

interface Passage {
  inFlight: number;
  closed: Promise<void> | undefined;
  open: () => void;
  /** Called when no write is in flight. */
  onIdle: (() => void) | undefined;
}

/** Writes that wait at one gate; further ones are rejected. */
const waitingMax = 5000;
const waitDefaultMs = 10_000;

export class MoveGate {
  readonly #options: MoveGateOptions;
  readonly #passages = new Map<ClusterName, Passage>();
  #waiting = 0;

  constructor(options: MoveGateOptions) {
    this.#options = options;
  }

  /** Counts the writes of a cluster from now on: it will move. */
  watch(cluster: ClusterName): void {
    if (this.#passages.has(cluster)) return;
    const passage = { inFlight: 0, closed: undefined, open: () => {}, onIdle: undefined };
    this.#passages.set(cluster, passage);
  }

  /** Lets no write pass from now on; resolves when those that did are over, or after some time. */
  async close(cluster: ClusterName, inFlightWaitMs: number, signal: AbortSignal): Promise<void> {
    this.watch(cluster);
    const passage = this.#passages.get(cluster) as Passage;
    passage.closed ??= new Promise((resolve) => {
      passage.open = resolve;
    });
    if (passage.inFlight === 0 || inFlightWaitMs === 0) return;
    const idle = new Promise<void>((resolve) => {
      passage.onIdle = resolve;
    });
    const stop = new AbortController();
    const late = sleep(this.#options.clock, inFlightWaitMs, AbortSignal.any([signal, stop.signal]));
    await Promise.race([idle, late.catch(() => undefined)]);
    stop.abort();
    signal.throwIfAborted();
  }

  /** All writes pass, and find the shard that has the cluster. */
  open(cluster: ClusterName): void {
    const passage = this.#passages.get(cluster);
    this.#passages.delete(cluster);
    passage?.open();
  }

  /**
   * Undefined: the request may pass. A promise: wait, and then look anew where the cluster is. A
   * function: it passes, and is to be called when it is over.
   */
  enter(cluster: ClusterName, method: string): undefined | Promise<void> | (() => void) {
    if (this.#passages.size === 0 || method === "GET" || method === "HEAD") return undefined;
    const passage = this.#passages.get(cluster);
    if (passage === undefined) return undefined;
    if (passage.closed !== undefined) return this.#wait(passage.closed);
    passage.inFlight++;
    return () => {
      passage.inFlight--;
      if (passage.inFlight === 0) passage.onIdle?.();
    };
  }

  async #wait(opened: Promise<void>): Promise<void> {
    if (this.#waiting >= waitingMax) throw tooLong();
    this.#waiting++;
    const stop = new AbortController();
    const { clock, waitMs = waitDefaultMs } = this.#options;
    try {
      const late = sleep(clock, waitMs, stop.signal).then(() => {
        throw tooLong();
      });
      await Promise.race([opened, late]);
    } finally {
      this.#waiting--;
      stop.abort();
    }
  }
}

function tooLong(): Error {
  return statusError.unavailable("the workspace moves to another shard: try again");
}
