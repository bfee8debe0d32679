/**
 * Logical clusters that are being emptied, and those that were emptied a moment ago: both reject
 * creates.
 *
 * A write that was admitted before the cluster closed may still be stored. So each cluster is
 * checked once more when every write that was in flight then has ended, and only then dropped from
 * this set.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";

/** Longer than any write in flight may take. */
const lastLookAfterMs = 60_000;
const tickMs = 5000;

export class TerminatingClusters {
  readonly #clock: Clock;
  readonly #finalCleanup: (cluster: ClusterName) => Promise<unknown>;
  readonly #terminating = new Set<ClusterName>();
  /** The clusters that reject creates. */
  readonly clusters: ReadonlySet<ClusterName> = this.#terminating;
  /** In order of their deletion. */
  readonly #deleted = new Map<ClusterName, number>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(clock: Clock, lastLook: (cluster: ClusterName) => Promise<unknown>) {
    this.#clock = clock;
    this.#finalCleanup = lastLook;
  }

  /** Whether the cluster was deleted, and not recreated since. */
  isDeleted(cluster: ClusterName): boolean {
    return this.#deleted.has(cluster);
  }

  markTerminating(cluster: ClusterName): void {
    this.#terminating.add(cluster);
    this.#deleted.delete(cluster);
  }

  /** The cluster stays closed for a while after its deletion. */
  markDeleted(cluster: ClusterName): void {
    if (!this.#terminating.has(cluster)) return;
    this.#deleted.set(cluster, this.#clock.monotonic() + lastLookAfterMs);
    this.#tick();
  }

  /** Reopens a cluster that was recreated. */
  markRecreated(cluster: ClusterName): void {
    this.#terminating.delete(cluster);
    this.#deleted.delete(cluster);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #tick(): void {
    if (this.#timer !== undefined || this.#deleted.size === 0 || this.#isStopped) return;
    this.#timer = this.#clock.schedule(tickMs, () => void this.#runFinalCleanups());
  }

  async #runFinalCleanups(): Promise<void> {
    const now = this.#clock.monotonic();
    for (const [cluster, dueAt] of this.#deleted) {
      if (dueAt > now || this.#isStopped) break;
      try {
        await this.#finalCleanup(cluster);
      } catch {
        // The store is unavailable: the cluster stays closed, and is checked again with the next
        // tick.
        break;
      }
      if (this.#deleted.get(cluster) === dueAt) this.markRecreated(cluster);
    }
    this.#timer = undefined;
    this.#tick();
  }
}
