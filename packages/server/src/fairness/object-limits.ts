/**
 * How much one logical cluster may store. The store is asked when a cluster is written to and the last answer is old; in between, creates
 * are added up, as in kcp. What is deleted is noticed with the next answer. A cluster that nobody writes to is not known here.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { StatusError } from "@kcp-ts/machinery/status";
import type { MaybePromise } from "../request/api-request.ts";

export interface ObjectLimits {
  /** 0 is no limit, here and below. */
  readonly objectsPerClusterMax: number;
  readonly bytesPerClusterMax: number;
  readonly objectCountIntervalMs: number;
}

export interface Usage {
  readonly objects: number;
  readonly bytes: number;
}

export interface ObjectLimiterOptions {
  readonly limits: ObjectLimits;
  readonly clock: Clock;
  /** What a cluster stores now. `withBytes` reads everything; without it only keys are counted. */
  readonly usageOf: (cluster: string, withBytes: boolean) => Promise<Usage>;
}

interface Count {
  objects: number;
  bytes: number;
  readonly countedAt: number;
}

/** Clusters that are known at a time; beyond it old answers are forgotten first. */
export const countedClustersMax = 10_000;

export class ObjectLimiter {
  readonly #options: ObjectLimiterOptions;
  readonly #counts = new Map<string, Count>();
  readonly #pending = new Map<string, Promise<Count>>();

  constructor(options: ObjectLimiterOptions) {
    this.#options = options;
  }

  /** Throws a 403 when the cluster has reached its limit; otherwise one object more is taken as created. */
  admit(cluster: string): MaybePromise<void> {
    if (isExempt(cluster)) return undefined;
    const { clock, limits } = this.#options;
    const count = this.#counts.get(cluster);
    if (count === undefined || clock.monotonic() - count.countedAt >= limits.objectCountIntervalMs)
      return this.#recount(cluster).then((fresh) => this.#check(cluster, fresh));
    return this.#check(cluster, count);
  }

  forget(cluster: string): void {
    this.#counts.delete(cluster);
  }

  get size(): number {
    return this.#counts.size;
  }

  #check(cluster: string, count: Count): void {
    const { objectsPerClusterMax: objectsMax, bytesPerClusterMax: bytesMax } = this.#options.limits;
    if (objectsMax > 0 && count.objects >= objectsMax)
      throw refused(
        `logical cluster "${cluster}" has reached its total object count limit (${count.objects}/${objectsMax} objects); delete objects to free up capacity`,
      );
    if (bytesMax > 0 && count.bytes >= bytesMax)
      throw refused(
        `logical cluster "${cluster}" has reached its total size limit (${count.bytes}/${bytesMax} bytes); delete objects to free up capacity`,
      );
    count.objects++;
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

/** The operator's own are never full. */
function isExempt(cluster: string): boolean {
  return cluster === "root" || cluster.startsWith("system:");
}

function refused(message: string): StatusError {
  return new StatusError({ code: 403, reason: "Forbidden", message });
}
