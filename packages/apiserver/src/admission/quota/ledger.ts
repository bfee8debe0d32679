/** Charges to quotas, of which those that wait for the same quota are written together: a burst of creations costs a few writes. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Quota, QuotaSource } from "./quota-admission.ts";
import { limitedNames, quotaExceededMessage, withUsage } from "./usage.ts";

interface QueuedCharge {
  readonly names: readonly string[];
  readonly objects: 1 | -1;
  /** Of the last try. */
  refusal: string | undefined;
  readonly settle: (refusal: string | undefined) => void;
  readonly fail: (error: unknown) => void;
}

export class QuotaCharger {
  readonly #source: Pick<QuotaSource, "update">;
  /** Postings that wait, by quota; one that is there is being worked on. */
  readonly #waiting = new Map<string, QueuedCharge[]>();

  constructor(source: Pick<QuotaSource, "update">) {
    this.#source = source;
  }

  /** Why it does not fit, or undefined when it is charged. */
  charge(
    cluster: ClusterName,
    quota: Quota,
    names: readonly string[],
  ): Promise<string | undefined> {
    return this.#post(cluster, quota, names, 1);
  }

  /** A quota that cannot be written now is put right by the next count. */
  async giveBack(cluster: ClusterName, quota: Quota, names: readonly string[]): Promise<void> {
    await this.#post(cluster, quota, names, -1).catch(() => {
      // What is charged too much is found by the control loop that counts.
    });
  }

  #post(
    cluster: ClusterName,
    quota: Quota,
    names: readonly string[],
    objects: 1 | -1,
  ): Promise<string | undefined> {
    return new Promise((settle, fail) => {
      const posting: QueuedCharge = { names, objects, refusal: undefined, settle, fail };
      const key = `${cluster}/${quota.namespace}/${quota.name}`;
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push(posting);
        return;
      }
      this.#waiting.set(key, [posting]);
      void this.#work(key, cluster, quota);
    });
  }

  async #work(key: string, cluster: ClusterName, quota: Quota): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(key) ?? [];
      if (batch.length === 0) break;
      this.#waiting.set(key, []);
      try {
        await this.#write(cluster, quota, batch);
        for (const { settle, refusal } of batch) settle(refusal);
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    }
    this.#waiting.delete(key);
  }

  async #write(cluster: ClusterName, quota: Quota, batch: readonly QueuedCharge[]): Promise<void> {
    await this.#source.update(cluster, quota, (present) => {
      let status = present;
      for (const posting of batch) {
        const names = limitedNames(status, posting.names);
        posting.refusal =
          posting.objects === 1 ? quotaExceededMessage(quota.name, status, names) : undefined;
        if (posting.refusal === undefined) status = withUsage(status, names, posting.objects);
      }
      return status;
    });
  }
}
