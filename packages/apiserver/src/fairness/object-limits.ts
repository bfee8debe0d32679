/**
 * How much one logical cluster may store. The store is asked when a cluster is written to and the last answer is old; in between, what is
 * written and removed is added up, as in kcp. A cluster that nobody writes to is not known here.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { MaybePromise } from "../request/api-request.ts";

export interface ObjectLimits {
  /** 0 is no limit, here and below. */
  readonly objectsPerClusterMax: number;
  readonly bytesPerClusterMax: number;
  readonly objectCountIntervalMs: number;
}

/** What is stored, or what a write adds to it. */
export interface StoredUsage {
  readonly objects: number;
  readonly bytes: number;
}

export interface ObjectLimiterOptions {
  readonly limits: ObjectLimits;
  readonly clock: Clock;
  /** What a cluster stores now. `withBytes` reads everything; without it only keys are counted. */
  readonly usageOf: (cluster: string, withBytes: boolean) => Promise<StoredUsage>;
  /** Objects that a cluster itself is said to have room for; undefined when nothing is said of it, 0 or less when there is no limit. */
  readonly ownLimitOf: (cluster: string) => MaybePromise<number | undefined>;
  /** A cluster that is not ready yet is not kept from getting so. */
  readonly isBootstrapping: (cluster: string) => MaybePromise<boolean>;
}

interface Count {
  objects: number;
  bytes: number;
  readonly countedAt: number;
}

/** Clusters that are known at a time; beyond it old answers are forgotten first. */
export const countedClustersMax = 10_000;

/** What fits wherever there is any room at all. */
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

  /** Why no object more fits into the cluster: asked before anything is done for a new one. */
  refusal(cluster: string): MaybePromise<string | undefined> {
    return this.#ask({ cluster, added: leastObject, isCharged: false });
  }

  /** Charges what a write adds, or says why it does not fit. */
  take(cluster: string, added: StoredUsage): MaybePromise<string | undefined> {
    return this.#ask({ cluster, added, isCharged: true });
  }

  /** Charges what nobody is asked about: what goes, and what is written by those who are not refused. */
  note(cluster: string, { objects, bytes }: StoredUsage): void {
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

  #ask(asked: UsageCheck): MaybePromise<string | undefined> {
    const own = this.#options.ownLimitOf(asked.cluster);
    return own instanceof Promise
      ? own.then((objects) => this.#answer(asked, objects))
      : this.#answer(asked, own);
  }

  #answer(asked: UsageCheck, ownLimit: number | undefined): MaybePromise<string | undefined> {
    const { clock, limits } = this.#options;
    const { cluster, added } = asked;
    const isExempt = isOperatorCluster(cluster);
    const objectsMax = ownLimit ?? (isExempt ? 0 : limits.objectsPerClusterMax);
    const max = { objects: objectsMax, bytes: isExempt ? 0 : limits.bytesPerClusterMax };
    // Nobody counts for a write that adds nothing to what is limited.
    if (!(max.objects > 0 && added.objects > 0) && !(max.bytes > 0 && added.bytes > 0))
      return undefined;
    const count = this.#counts.get(cluster);
    return count === undefined ||
      clock.monotonic() - count.countedAt >= limits.objectCountIntervalMs
      ? this.#recount(cluster).then((fresh) => this.#judge(asked, fresh, max))
      : this.#judge(asked, count, max);
  }

  #judge(asked: UsageCheck, count: Count, max: StoredUsage): MaybePromise<string | undefined> {
    const { cluster, added, isCharged } = asked;
    if (max.bytes > 0 && added.bytes > 0 && count.bytes + added.bytes > max.bytes)
      return `logical cluster "${cluster}" has reached its total size limit (${count.bytes}/${max.bytes} bytes, ${added.bytes} more asked for); delete objects to free up capacity`;
    if (max.objects > 0 && added.objects > 0 && count.objects >= max.objects)
      return this.#unlessBootstrapping(
        asked,
        `logical cluster "${cluster}" has reached its total object count limit (${count.objects}/${max.objects} objects); delete objects to free up capacity`,
      );
    if (isCharged) this.note(cluster, added);
    return undefined;
  }

  async #unlessBootstrapping(asked: UsageCheck, refusal: string): Promise<string | undefined> {
    if (!(await this.#options.isBootstrapping(asked.cluster))) return refusal;
    if (asked.isCharged) this.note(asked.cluster, asked.added);
    return undefined;
  }

  /** Those who ask while it is being counted wait for the same answer. */
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

/** The operator's own are limited only where it says so of one. */
function isOperatorCluster(cluster: string): boolean {
  return cluster === "root" || cluster.startsWith("system:");
}
