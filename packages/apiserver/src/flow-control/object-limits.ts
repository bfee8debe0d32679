/**
 * ObjectLimiter: the number and bytes of objects that one logical cluster may store. A write reads
 * the usage from the store when the last count is old; in between, creations and deletions are
 * added to the count, as in kcp. Clusters without writes have no state here.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { MaybePromise } from "../request/api-request.ts";

export interface ObjectLimits {
  /** 0 is no limit, here and below. */
  readonly objectsPerClusterMax: number;
  readonly bytesPerClusterMax: number;
  readonly objectCountIntervalMs: number;
}

/** The usage of a cluster, or the usage that a write adds. */
export interface StoredUsage {
  readonly objects: number;
  readonly bytes: number;
}

export interface ObjectLimiterOptions {
  readonly limits: ObjectLimits;
  readonly clock: Clock;
  /**
   * The current usage of a cluster. `withBytes` reads all objects; without it, only keys are
   * counted.
   */
  readonly usageOf: (cluster: string, withBytes: boolean) => Promise<StoredUsage>;
  /**
   * The limit that the cluster itself declares; undefined when it declares none, 0 or less when it
   * is unlimited.
   */
  readonly clusterLimitOf: (cluster: string) => MaybePromise<number | undefined>;
  /** Limits do not keep a cluster from bootstrapping. */
  readonly isBootstrapping: (cluster: string) => MaybePromise<boolean>;
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
  readonly isCharged: boolean;
}

export class ObjectLimiter {
  readonly #options: ObjectLimiterOptions;
  readonly #counts = new Map<string, Count>();
  readonly #pending = new Map<string, Promise<Count>>();

  constructor(options: ObjectLimiterOptions) {
    this.#options = options;
  }

  /**
   * The reason why no further object fits into the cluster: checked before any work for a new
   * object.
   */
  limitExceededReason(cluster: string): MaybePromise<string | undefined> {
    return this.#check({ cluster, added: leastObject, isCharged: false });
  }

  /** Charges the usage that a write adds, or returns the reason why the write does not fit. */
  charge(cluster: string, added: StoredUsage): MaybePromise<string | undefined> {
    return this.#check({ cluster, added, isCharged: true });
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

  #check(asked: UsageCheck): MaybePromise<string | undefined> {
    const own = this.#options.clusterLimitOf(asked.cluster);
    return own instanceof Promise
      ? own.then((objects) => this.#checkAgainstLimit(asked, objects))
      : this.#checkAgainstLimit(asked, own);
  }

  #checkAgainstLimit(
    asked: UsageCheck,
    ownLimit: number | undefined,
  ): MaybePromise<string | undefined> {
    const { clock, limits } = this.#options;
    const { cluster, added } = asked;
    const isExempt = isOperatorCluster(cluster);
    const objectsMax = ownLimit ?? (isExempt ? 0 : limits.objectsPerClusterMax);
    const max = { objects: objectsMax, bytes: isExempt ? 0 : limits.bytesPerClusterMax };
    // A write that adds nothing to a limited amount needs no count.
    if (!(max.objects > 0 && added.objects > 0) && !(max.bytes > 0 && added.bytes > 0))
      return undefined;
    const count = this.#counts.get(cluster);
    return count === undefined ||
      clock.monotonic() - count.countedAt >= limits.objectCountIntervalMs
      ? this.#recount(cluster).then((fresh) => this.#compare(asked, fresh, max))
      : this.#compare(asked, count, max);
  }

  #compare(asked: UsageCheck, count: Count, max: StoredUsage): MaybePromise<string | undefined> {
    const { cluster, added, isCharged } = asked;
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
    const { usageOf, clock, limits } = this.#options;
    const { objects, bytes } = await usageOf(cluster, limits.bytesPerClusterMax > 0);
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

/** The operator's own clusters are only limited when they declare a limit. */
function isOperatorCluster(cluster: string): boolean {
  return cluster === "root" || cluster.startsWith("system:");
}
