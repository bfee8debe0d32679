/**
 * A workload of any kind: an object with a spec and perhaps a status. Clusters define their kinds
 * themselves, so every field is validated before use.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { Condition, KubernetesObject } from "@kcp-ts/sdk";

export interface Workload extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: object;
}

export interface WorkloadCondition extends Condition {
  readonly lastUpdateTime?: string;
}

/** The largest int32, which is the type of `spec.replicas`. */
export const replicasMax = 2 ** 31 - 1;

/** The object as a workload; undefined without a spec, or with a status that is no object. */
export function asWorkload(object: KubernetesObject): Workload | undefined {
  const { spec, status } = object as { spec?: JsonValue; status?: JsonValue };
  if (!isJsonObject(spec)) return undefined;
  if (status !== undefined && !isJsonObject(status)) return undefined;
  return object as Workload;
}

/** A count of the spec; `otherwise` if it is missing or invalid. */
export function specCount({ spec }: Workload, field: string, otherwise: number): number {
  const value = (spec as Record<string, JsonValue | undefined>)[field];
  return isCount(value) ? value : otherwise;
}

/** A count of the status; an invalid value counts as 0. */
export function statusCount({ status }: Workload, field: string): number {
  const value = (status as Record<string, JsonValue | undefined> | undefined)?.[field];
  return isCount(value) ? value : 0;
}

/** A string of the status. */
export function statusText({ status }: Workload, field: string): string | undefined {
  const value = (status as Record<string, JsonValue | undefined> | undefined)?.[field];
  return typeof value === "string" ? value : undefined;
}

export function conditionsOf({ status }: Workload): readonly WorkloadCondition[] {
  const conditions = (status as { conditions?: unknown } | undefined)?.conditions;
  if (!Array.isArray(conditions)) return [];
  return conditions.filter(
    (one: unknown) => isJsonObject(one) && typeof one["type"] === "string",
  ) as WorkloadCondition[];
}

/** Whether the cluster has observed the newest spec. */
export function isObserved(object: Workload): boolean {
  return statusCount(object, "observedGeneration") >= (object.metadata.generation ?? 0);
}

export function isCount(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= replicasMax;
}
