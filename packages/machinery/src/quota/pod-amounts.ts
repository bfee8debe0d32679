/** What a Pod requests and is limited to, its containers and itself together. */
import type { JsonObject } from "../json/index.ts";
import {
  type Amounts,
  addAmounts,
  type MutableAmounts,
  objectAt,
  objectsAt,
  parseAmounts,
  plus,
  raiseAmounts,
} from "./amounts.ts";

export function podRequests(spec: JsonObject): Amounts {
  const sum = podAmounts(spec, "requests");
  addAmounts(sum, parseAmounts(spec["overhead"]));
  return sum;
}

/** Overhead adds to limits that exist. */
export function podLimits(spec: JsonObject): Amounts {
  const sum = podAmounts(spec, "limits");
  for (const [name, amount] of parseAmounts(spec["overhead"])) {
    const limit = sum.get(name);
    if (limit !== undefined && limit.nanos > 0n) sum.set(name, plus(limit, amount));
  }
  return sum;
}

/**
 * Without the overhead of the Pod. Containers run together, and so do init containers that restart
 * (sidecars); other init containers run one after the other, beside the sidecars before them.
 * Amounts of the Pod itself override.
 */
export function podAmounts(spec: JsonObject, member: "requests" | "limits"): MutableAmounts {
  const sum: MutableAmounts = new Map();
  const sidecars: MutableAmounts = new Map();
  const start: MutableAmounts = new Map();
  const of = (owner: JsonObject) => parseAmounts(objectAt(owner, "resources")[member]);
  for (const container of objectsAt(spec, "containers")) addAmounts(sum, of(container));
  for (const container of objectsAt(spec, "initContainers")) {
    const own = of(container);
    if (container["restartPolicy"] === "Always") {
      addAmounts(sum, own);
      addAmounts(sidecars, own);
      raiseAmounts(start, sidecars);
    } else {
      addAmounts(own, sidecars);
      raiseAmounts(start, own);
    }
  }
  raiseAmounts(sum, start);
  for (const [name, amount] of of(spec)) if (isPodLevelResource(name)) sum.set(name, amount);
  return sum;
}

export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/** Whether the Pod has requests or limits of its own, so that its containers need none. */
export function hasPodLevelResources(spec: JsonObject): boolean {
  const { requests, limits } = objectAt(spec, "resources");
  return [requests, limits].some((list) => [...parseAmounts(list).keys()].some(isPodLevelResource));
}
