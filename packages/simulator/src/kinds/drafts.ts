/** What workload kinds have in common to read. */
import type { JsonObject } from "@kcp-ts/machinery/json";

export function replicasIn(object: JsonObject): number {
  return Number(object["replicas"] ?? 0);
}
