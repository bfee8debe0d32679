/**
 * QuotaCharger charges quotas, and batches the charges that wait for the same quota: a burst of
 * creations costs a few writes.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Amounts } from "@kcp-ts/machinery/quota";
import type { Quota, QuotaSource } from "./quota-admission.ts";
import { limitedAmounts, quotaExceededMessage, withUsage } from "./usage.ts";

interface QueuedCharge {
  readonly amounts: Amounts;
  readonly sign: 1 | -1;
  /** The denial of the last attempt. */
  refusal: string | undefined;
  readonly resolve: (refusal: string | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class QuotaCharger {
  readonly #source: Pick<QuotaSource, "update">;
  /** The waiting charges by quota; a quota in the map is being written. */
  readonly #waiting = new Map<string, QueuedCharge[]>();

  constructor(source: Pick<QuotaSource, "update">) {
    this.#source = source;
  }

  /** The reason why the charge exceeds the quota, or undefined when it is charged. */
  charge(cluster: ClusterName, quota: Quota, amounts: Amounts): Promise<string | undefined> {
    return this.#enqueue(cluster, quota, amounts, 1);
  }

  /** Releases a charge; if the quota cannot be written now, the next recount corrects it. */
  async refund(cluster: ClusterName, quota: Quota, amounts: Amounts): Promise<void> {
    await this.#enqueue(cluster, quota, amounts, -1).catch(() => {
      // The control loop that recounts corrects excess charges.
    });
  }

  #enqueue(
    cluster: ClusterName,
    quota: Quota,
    amounts: Amounts,
    sign: 1 | -1,
  ): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const posting: QueuedCharge = { amounts, sign, refusal: undefined, resolve, reject };
      const key = `${cluster}/${quota.namespace}/${quota.name}`;
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push(posting);
        return;
      }
      this.#waiting.set(key, [posting]);
      void this.#processQueue(key, cluster, quota);
    });
  }

  async #processQueue(key: string, cluster: ClusterName, quota: Quota): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(key) ?? [];
      if (batch.length === 0) break;
      this.#waiting.set(key, []);
      try {
        await this.#write(cluster, quota, batch);
        for (const { resolve, refusal } of batch) resolve(refusal);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#waiting.delete(key);
  }

  async #write(cluster: ClusterName, quota: Quota, batch: readonly QueuedCharge[]): Promise<void> {
    await this.#source.update(cluster, quota, (present) => {
      let status = present;
      for (const posting of batch) {
        const { sign } = posting;
        const amounts = limitedAmounts(status, posting.amounts);
        posting.refusal =
          sign === 1 ? quotaExceededMessage(quota.name, status, amounts) : undefined;
        if (posting.refusal === undefined) status = withUsage(status, amounts, sign);
      }
      return status;
    });
  }
}
