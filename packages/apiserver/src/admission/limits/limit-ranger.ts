/**
 * LimitRanger: Pods get the requests and limits that the LimitRanges of their namespace have as
 * defaults, and Pods and PersistentVolumeClaims outside of their bounds are refused.
 *
 * A copy of what a physical cluster runs is stored as it runs there.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { objectAt } from "@kcp-ts/machinery/quota";
import {
  type AdmissionPlugin,
  type AdmissionRequest,
  denied,
  type MutableObject,
} from "../admission.ts";
import { isClusterCopy } from "../cluster-copy.ts";
import { setContainerDefaults } from "./container-defaults.ts";
import { limitErrors } from "./limit-errors.ts";

export interface LimitRangeSource {
  /** Whether the cluster is known to have no LimitRange: most clusters. */
  isEmpty(cluster: ClusterName): boolean;
  limitRanges(cluster: ClusterName, namespace: string): Promise<readonly JsonObject[]>;
}

export class LimitRanger implements AdmissionPlugin {
  readonly name = "LimitRanger";
  readonly resources = [
    { group: "", resource: "pods" },
    { group: "", resource: "persistentvolumeclaims" },
  ];
  readonly #source: LimitRangeSource;

  constructor(source: LimitRangeSource) {
    this.#source = source;
  }

  handles({ cluster, operation, resource, subresource }: AdmissionRequest): boolean {
    const isPod = resource === "pods";
    const isLimited =
      operation === "CREATE"
        ? subresource === ""
        : operation === "UPDATE" && subresource === (isPod ? "resize" : "");
    return isLimited && !this.#source.isEmpty(cluster);
  }

  async mutate(request: AdmissionRequest, draft: MutableObject): Promise<void> {
    if (request.resource !== "pods") return;
    for (const limits of await this.#limitsOf(request, draft)) setContainerDefaults(draft, limits);
  }

  async validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    if (objectAt(old, "metadata")["deletionTimestamp"] !== undefined) return;
    for (const limits of await this.#limitsOf(request, object)) {
      const errors = limitErrors(request.resource, object, limits);
      if (errors.length === 0) continue;
      throw denied(request, errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]`);
    }
  }

  async #limitsOf(
    request: AdmissionRequest,
    object: JsonObject,
  ): Promise<readonly (readonly JsonObject[])[]> {
    if (isClusterCopy(request, object)) return [];
    const { cluster, namespace } = request;
    const ranges = await this.#source.limitRanges(cluster, namespace);
    return ranges.map((range) => {
      const { limits } = objectAt(range, "spec");
      return Array.isArray(limits) ? (limits as JsonObject[]) : [];
    });
  }
}
