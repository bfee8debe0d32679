/**
 * Logical clusters that are being emptied, and those that were until a moment ago: nothing new may come into them.
 *
 * A write that had passed this gate before it closed may still arrive. So each cluster is looked at once more when every write that was under way
 * then has ended, and only then forgotten.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";

/** Longer than any write may take that has begun. */
const lastLookAfterMs = 60_000;
const tickMs = 5000;

export class TerminatingClusters {
  readonly #clock: Clock;
  readonly #lastLook: (cluster: ClusterName) => Promise<unknown>;
  readonly #closing = new Set<ClusterName>();
  /** In order of their end. */
  readonly #gone = new Map<ClusterName, number>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(clock: Clock, lastLook: (cluster: ClusterName) => Promise<unknown>) {
    this.#clock = clock;
    this.#lastLook = lastLook;
  }

  /** Costs next to nothing while no cluster is being deleted. */
  has(cluster: ClusterName): boolean {
    return this.#closing.size > 0 && this.#closing.has(cluster);
  }

  /** It was seen to go, and nobody has made it anew. */
  isGone(cluster: ClusterName): boolean {
    return this.#gone.has(cluster);
  }

  enter(cluster: ClusterName): void {
    this.#closing.add(cluster);
    this.#gone.delete(cluster);
  }

  /** It is gone: the gate stays closed for a while. */
  leave(cluster: ClusterName): void {
    if (!this.#closing.has(cluster)) return;
    this.#gone.set(cluster, this.#clock.monotonic() + lastLookAfterMs);
    this.#tick();
  }

  /** Somebody made it anew. */
  reopen(cluster: ClusterName): void {
    this.#closing.delete(cluster);
    this.#gone.delete(cluster);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #tick(): void {
    if (this.#timer !== undefined || this.#gone.size === 0 || this.#isStopped) return;
    this.#timer = this.#clock.schedule(tickMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const now = this.#clock.monotonic();
    for (const [cluster, dueAt] of this.#gone) {
      if (dueAt > now || this.#isStopped) break;
      try {
        await this.#lastLook(cluster);
      } catch {
        // The store is away: the cluster stays closed, and is looked at again with the next tick.
        break;
      }
      if (this.#gone.get(cluster) === dueAt) this.reopen(cluster);
    }
    this.#timer = undefined;
    this.#tick();
  }
}
