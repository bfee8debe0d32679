/** The class of a Pod that decides which one a node without memory evicts first. */
import type { JsonObject } from "@kcp-ts/machinery/json";

export function qosClassOf(spec: JsonObject): string {
  const containers = [
    ...((spec["containers"] ?? []) as JsonObject[]),
    ...((spec["initContainers"] ?? []) as JsonObject[]),
  ];
  let isAnything = false;
  let isGuaranteed = true;
  for (const container of containers) {
    const { requests = {}, limits = {} } = (container["resources"] ?? {}) as {
      requests?: JsonObject;
      limits?: JsonObject;
    };
    for (const name of ["cpu", "memory"]) {
      if (requests[name] !== undefined || limits[name] !== undefined) isAnything = true;
      if (limits[name] === undefined || limits[name] !== requests[name]) isGuaranteed = false;
    }
  }
  if (!isAnything) return "BestEffort";
  return isGuaranteed ? "Guaranteed" : "Burstable";
}
