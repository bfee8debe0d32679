/**
 * ResourceQuota: a namespace holds no more objects than its quotas say. An object is charged before it is stored, by compare-and-swap on
 * each quota's status, so that two at once never both take the last place; what was charged for nothing is given back.
 *
 * It comes last: whatever else may refuse an object has done so by then. Deletions are noticed by a control loop, which counts anew.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import { QuotaCharger } from "./ledger.ts";
import { countedResourceNames, limitedNames, quotaExceededMessage, statusOf } from "./usage.ts";

export interface QuotaSource {
  /** Whether there may be quotas for the namespace: false at once where there are none, as nearly everywhere. */
  mayHave(cluster: ClusterName, namespace: string): boolean;
  quotas(cluster: ClusterName, namespace: string): Promise<readonly Quota[]>;
  /** Rewrites the status of a quota from what it is, again when it changed meanwhile. False when the quota is gone. */
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
  readonly #ledger: QuotaCharger;
  readonly #charges = new WeakMap<AdmissionRequest, readonly Charge[]>();

  constructor(source: QuotaSource) {
    this.#source = source;
    this.#ledger = new QuotaCharger(source);
  }

  concerns({ operation, subresource, cluster, namespace }: AdmissionRequest): boolean {
    return operation === "CREATE" && subresource === "" && this.#source.mayHave(cluster, namespace);
  }

  async validate(request: AdmissionRequest): Promise<void> {
    // Asked again for the same object, under another generated name.
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

  /** The object was not stored after all. */
  async abandon(request: AdmissionRequest): Promise<void> {
    const charges = this.#charges.get(request);
    if (charges === undefined) return;
    this.#charges.delete(request);
    await this.#giveBack(request, charges);
  }

  async #charge(request: AdmissionRequest, due: readonly Charge[]): Promise<void> {
    const done: Charge[] = [];
    for (const charge of due) {
      // Noted before the next one is asked: whatever comes of that, this one is given back with the request.
      this.#charges.set(request, done);
      const refusal = await this.#ledger.charge(request.cluster, charge.quota, charge.names);
      if (refusal !== undefined) throw statusError.forbidden(request, request.name, refusal);
      done.push(charge);
    }
  }

  async #giveBack({ cluster }: AdmissionRequest, charges: readonly Charge[]): Promise<void> {
    for (const { quota, names } of charges) await this.#ledger.giveBack(cluster, quota, names);
  }
}
