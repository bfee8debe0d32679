/** Accessors that workload kinds share. */
import type { JsonObject } from "@kcp-ts/machinery/json";

export function replicasIn(object: JsonObject): number {
  return Number(object["replicas"] ?? 0);
}
