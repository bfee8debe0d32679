/**
 * ResourceQuota: the objects of a namespace use no more than its quotas permit. An object is
 * charged before it is stored, by compare-and-swap on the status of each quota, so that two
 * concurrent creations never both take the last place; charges for objects that are not stored are
 * released.
 *
 * The plugin runs last, after every plugin that may deny the object. A control loop notices
 * deletions and recounts. A copy of what a physical cluster runs is counted by that loop and never
 * refused: refusing the copy would not end the Pod.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Amounts,
  isMeasuredBy,
  isTerminatingPod,
  matchesScopes,
  minus,
  missingOfPod,
  objectAt,
  usageOf,
  zero,
} from "@kcp-ts/machinery/quota";
import { statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import { isClusterCopy } from "../cluster-copy.ts";
import { QuotaCharger } from "./quota-charger.ts";
import { limitedAmounts, quotaExceededMessage, statusOf } from "./usage.ts";

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
  readonly amounts: Amounts;
}

/** The resources of the core group whose updates can use more, with their subresources. */
const updates: ReadonlyMap<string, readonly string[]> = new Map([
  ["pods", ["", "resize"]],
  ["services", [""]],
  ["persistentvolumeclaims", [""]],
]);

/** No object outlives its grace period in the write that charges for it. */
const nowMs = 0;

export class QuotaAdmission implements AdmissionPlugin {
  readonly name = "ResourceQuota";
  readonly #source: QuotaSource;
  readonly #charger: QuotaCharger;
  readonly #charges = new WeakMap<AdmissionRequest, readonly Charge[]>();

  constructor(source: QuotaSource) {
    this.#source = source;
    this.#charger = new QuotaCharger(source);
  }

  handles({ operation, subresource, cluster, group, resource }: AdmissionRequest): boolean {
    if (this.#source.clusters.isEmpty(cluster)) return false;
    if (operation === "CREATE") return subresource === "";
    return (
      operation === "UPDATE" &&
      group === "" &&
      updates.get(resource)?.includes(subresource) === true
    );
  }

  async validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    if (this.#charges.has(request)) {
      // Called again for the same object under another generated name, or for the update of an
      // object that has changed meanwhile.
      if (old === undefined) return;
      await this.rollback(request);
    }
    if (isClusterCopy(request, object) || !mayUseMore(request, object, old)) return;
    const { cluster, namespace, name } = request;
    const quotas = await this.#source.quotas(cluster, namespace);
    const usage = usageOf(request, object, nowMs);
    const due = quotas.flatMap((quota) => this.#due(request, { quota, usage }, { object, old }));
    for (const { quota, amounts } of due) {
      const refusal = quotaExceededMessage(quota.name, statusOf(quota.object), amounts);
      if (refusal !== undefined) throw statusError.forbidden(request, name, refusal);
    }
    if (request.isDryRun || due.length === 0) return;
    await this.#charge(request, due);
  }

  /** What the quota is charged, if it measures the object; throws where it cannot be charged. */
  #due(
    request: AdmissionRequest,
    { quota, usage }: { readonly quota: Quota; readonly usage: Amounts },
    { object, old }: { readonly object: JsonObject; readonly old: JsonObject | undefined },
  ): readonly Charge[] {
    const spec = objectAt(quota.object, "spec");
    const status = statusOf(quota.object);
    if (!matchesScopes(spec, request, object)) return [];
    const isPod = request.group === "" && request.resource === "pods";
    const names = isPod
      ? Object.keys(status.hard).filter((name) => isMeasuredBy(name, request))
      : [...limitedAmounts(status, usage).keys()];
    if (names.length === 0) return [];
    const missing = isPod ? missingOfPod(names, object) : undefined;
    const unknown = names.some((name) => !Object.hasOwn(status.used, name));
    const refusal =
      missing !== undefined
        ? `failed quota: ${quota.name}: ${missing}`
        : unknown
          ? `status unknown for quota: ${quota.name}, resources: ${names.toSorted().join(",")}`
          : undefined;
    if (refusal !== undefined) throw statusError.forbidden(request, request.name, refusal);
    const isCharged = old !== undefined && matchesScopes(spec, request, old);
    const before = isCharged ? usageOf(request, old, nowMs) : new Map();
    const grown = [...limitedAmounts(status, usage)].flatMap(
      ([name, amount]): [string, typeof amount][] => {
        const more = minus(amount, before.get(name) ?? zero);
        return more.nanos === 0n ? [] : [[name, more]];
      },
    );
    return grown.length === 0 ? [] : [{ quota, amounts: new Map(grown) }];
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
      const refusal = await this.#charger.charge(request.cluster, charge.quota, charge.amounts);
      if (refusal !== undefined) throw statusError.forbidden(request, request.name, refusal);
      done.push(charge);
    }
  }

  async #refund({ cluster }: AdmissionRequest, charges: readonly Charge[]): Promise<void> {
    for (const { quota, amounts } of charges) await this.#charger.refund(cluster, quota, amounts);
  }
}

/** An update of a Pod uses more when it is resized, or when other quotas measure it from now on. */
function mayUseMore(
  { group, resource, subresource }: AdmissionRequest,
  object: JsonObject,
  old: JsonObject | undefined,
): boolean {
  if (old === undefined || group !== "" || resource !== "pods" || subresource !== "") return true;
  return isTerminatingPod(object) !== isTerminatingPod(old);
}
