/**
 * ResourceQuota: a namespace has no more objects than its quotas permit. An object is charged
 * before it is stored, by compare-and-swap on the status of each quota, so that two concurrent
 * creations never both take the last place; charges for objects that are not stored are released.
 *
 * The plugin runs last, after every plugin that may deny the object. A control loop notices
 * deletions and recounts.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import { QuotaCharger } from "./quota-charger.ts";
import { countedResourceNames, limitedNames, quotaExceededMessage, statusOf } from "./usage.ts";

export interface QuotaSource {
  /** Clusters that are known to have no quota: most clusters. */
  readonly clusters: { isEmpty(cluster: ClusterName): boolean };
  quotas(cluster: ClusterName, namespace: string): Promise<readonly Quota[]>;
  /**
   * Updates the status of a quota from its current state, and again when it changed meanwhile.
   * False when the quota is deleted.
   */
  update(
    cluster: ClusterName,
    quota: Quota,
    change: (status: ReturnType<typeof statusOf>) => ReturnType<typeof statusOf>,
  ): Promise<boolean>;
}

export interface Quota {
  readonly namespace: string;
  readonly name: string;
  readonly object: JsonObject;
}

interface Charge {
  readonly quota: Quota;
  readonly names: readonly string[];
}

export class QuotaAdmission implements AdmissionPlugin {
  readonly name = "ResourceQuota";
  readonly #source: QuotaSource;
  readonly #charger: QuotaCharger;
  readonly #charges = new WeakMap<AdmissionRequest, readonly Charge[]>();

  constructor(source: QuotaSource) {
    this.#source = source;
    this.#charger = new QuotaCharger(source);
  }

  handles({ operation, subresource, cluster }: AdmissionRequest): boolean {
    return operation === "CREATE" && subresource === "" && !this.#source.clusters.isEmpty(cluster);
  }

  async validate(request: AdmissionRequest): Promise<void> {
    // Called again for the same object under another generated name.
    if (this.#charges.has(request)) return;
    const { cluster, namespace, group, resource, name } = request;
    const names = countedResourceNames(group, resource);
    const quotas = await this.#source.quotas(cluster, namespace);
    const due = quotas.flatMap((quota): Charge[] => {
      const limited = limitedNames(statusOf(quota.object), names);
      return limited.length === 0 ? [] : [{ quota, names: limited }];
    });
    for (const { quota, names: limited } of due) {
      const refusal = quotaExceededMessage(quota.name, statusOf(quota.object), limited);
      if (refusal !== undefined) throw statusError.forbidden(request, name, refusal);
    }
    if (request.isDryRun || due.length === 0) return;
    await this.#charge(request, due);
  }

  /** Releases the charges of an object that was not stored. */
  async rollback(request: AdmissionRequest): Promise<void> {
    const charges = this.#charges.get(request);
    if (charges === undefined) return;
    this.#charges.delete(request);
    await this.#refund(request, charges);
  }

  async #charge(request: AdmissionRequest, due: readonly Charge[]): Promise<void> {
    const done: Charge[] = [];
    for (const charge of due) {
      // Recorded before the next quota is charged: if that fails, the rollback of the request
      // releases this one.
      this.#charges.set(request, done);
      const refusal = await this.#charger.charge(request.cluster, charge.quota, charge.names);
      if (refusal !== undefined) throw statusError.forbidden(request, request.name, refusal);
      done.push(charge);
    }
  }

  async #refund({ cluster }: AdmissionRequest, charges: readonly Charge[]): Promise<void> {
    for (const { quota, names } of charges) await this.#charger.refund(cluster, quota, names);
  }
}
