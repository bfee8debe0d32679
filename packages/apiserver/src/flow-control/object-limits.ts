/**
 * ObjectLimiter: the number and bytes of objects that one logical cluster may store. A write reads
 * the usage from the store when the last count is old; in between, creations and deletions are
 * added to the count, as in kcp. Clusters without writes have no state here.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { TopStored } from "./top-stored.ts";

export interface ObjectLimits {
  /** 0 is no limit, here and below. */
  readonly objectsPerClusterMax: number;
  readonly bytesPerClusterMax: number;
  readonly objectCountIntervalMs: number;
}

/** The usage of a cluster, the usage that a write adds, or the limits, where zero is no limit. */
export interface StoredUsage {
  readonly objects: number;
  readonly bytes: number;
}

export interface ObjectLimiterOptions {
  readonly clock: Clock;
  /** The time after which the objects of a cluster are counted again. */
  readonly countIntervalMs: number;
  readonly countsBytes: boolean;
  /**
   * The current usage of a cluster. `withBytes` reads all objects; without it, only keys are
   * counted.
   */
  readonly usageOf: (cluster: string, withBytes: boolean) => Promise<StoredUsage>;
  /** Limits do not keep a cluster from bootstrapping. */
  readonly isBootstrapping: (cluster: string) => Promise<boolean>;
}

interface Count {
  objects: number;
  bytes: number;
  readonly countedAt: number;
}

/** The number of clusters with a cached count; beyond it, the oldest counts are dropped first. */
export const countedClustersMax = 10_000;

/** The smallest object: it fits unless the limit is reached. */
const leastObject: StoredUsage = { objects: 1, bytes: 1 };

interface UsageCheck {
  readonly cluster: string;
  readonly added: StoredUsage;
  readonly max: StoredUsage;
  readonly isCharged: boolean;
}

export class ObjectLimiter {
  readonly #options: ObjectLimiterOptions;
  readonly #counts = new Map<string, Count>();
  readonly topStored = new TopStored(this.#counts);
  readonly #pending = new Map<string, Promise<Count>>();

  constructor(options: ObjectLimiterOptions) {
    this.#options = options;
  }

  /**
   * The reason why no further object fits into the cluster: checked before any work for a new
   * object.
   */
  limitExceededReason(cluster: string, max: StoredUsage): Promise<string | undefined> {
    return this.#check({ cluster, added: leastObject, max, isCharged: false });
  }

  /** Charges the usage that a write adds, or returns the reason why the write does not fit. */
  charge(cluster: string, added: StoredUsage, max: StoredUsage): Promise<string | undefined> {
    return this.#check({ cluster, added, max, isCharged: true });
  }

  /** Records usage without a check: of deletions, and of writers that are never rejected. */
  record(cluster: string, { objects, bytes }: StoredUsage): void {
    const count = this.#counts.get(cluster);
    if (count === undefined) return;
    count.objects += objects;
    count.bytes += bytes;
  }

  forget(cluster: string): void {
    this.#counts.delete(cluster);
  }

  get size(): number {
    return this.#counts.size;
  }

  async #check(asked: UsageCheck): Promise<string | undefined> {
    const { clock, countIntervalMs } = this.#options;
    const { cluster, added, max } = asked;
    // A write that adds nothing to a limited amount needs no count.
    if (!(max.objects > 0 && added.objects > 0) && !(max.bytes > 0 && added.bytes > 0))
      return undefined;
    const count = this.#counts.get(cluster);
    const isRecent = count !== undefined && clock.monotonic() - count.countedAt < countIntervalMs;
    return this.#compare(asked, isRecent ? count : await this.#recount(cluster));
  }

  /** Compares and charges in one turn, so that two writes never both take the last place. */
  async #compare(asked: UsageCheck, count: Count): Promise<string | undefined> {
    const { cluster, added, max, isCharged } = asked;
    if (max.bytes > 0 && added.bytes > 0 && count.bytes + added.bytes > max.bytes)
      return `logical cluster "${cluster}" has reached its total size limit (${count.bytes}/${max.bytes} bytes, ${added.bytes} more asked for); delete objects to free up capacity`;
    if (max.objects > 0 && added.objects > 0 && count.objects >= max.objects)
      return this.#unlessBootstrapping(
        asked,
        `logical cluster "${cluster}" has reached its total object count limit (${count.objects}/${max.objects} objects); delete objects to free up capacity`,
      );
    if (isCharged) this.record(cluster, added);
    return undefined;
  }

  async #unlessBootstrapping(
    asked: UsageCheck,
    limitExceededReason: string,
  ): Promise<string | undefined> {
    if (!(await this.#options.isBootstrapping(asked.cluster))) return limitExceededReason;
    if (asked.isCharged) this.record(asked.cluster, asked.added);
    return undefined;
  }

  /** Recounts the cluster; concurrent callers share one recount. */
  #recount(cluster: string): Promise<Count> {
    const known = this.#pending.get(cluster);
    if (known !== undefined) return known;
    const counting = this.#count(cluster).finally(() => this.#pending.delete(cluster));
    this.#pending.set(cluster, counting);
    return counting;
  }

  async #count(cluster: string): Promise<Count> {
    const { usageOf, clock, countsBytes } = this.#options;
    const { objects, bytes } = await usageOf(cluster, countsBytes);
    const count = { objects, bytes, countedAt: clock.monotonic() };
    this.#counts.delete(cluster);
    if (this.#counts.size >= countedClustersMax) {
      const [oldest] = this.#counts.keys();
      this.#counts.delete(oldest as string);
    }
    this.#counts.set(cluster, count);
    return count;
  }
}
