/** Whether a Pod fits a node, and if not, the reason in kube-scheduler's words. Pure. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { StringMap } from "@kcp-ts/sdk";
import { type Node, type Pod, quantityOf, type Taint, type Toleration } from "../api/index.ts";

export interface Load {
  cpu: number;
  memory: number;
  pods: number;
}

export interface Capacity {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
}

export function capacityOf({ status }: Node): Capacity {
  const allocatable = status?.allocatable ?? {};
  return {
    cpu: quantityOf(allocatable["cpu"]),
    memory: quantityOf(allocatable["memory"]),
    pods: quantityOf(allocatable["pods"]),
  };
}

/**
 * The sum of the containers' requests; init containers run before the others and count only where
 * they request more.
 */
export function requestsOf({ spec }: Pod): Load {
  const demand: Load = { cpu: 0, memory: 0, pods: 1 };
  for (const name of ["cpu", "memory"] as const) {
    for (const { resources } of spec.containers)
      demand[name] += quantityOf(resources?.requests?.[name]);
    for (const { resources } of spec.initContainers ?? [])
      demand[name] = Math.max(demand[name], quantityOf(resources?.requests?.[name]));
  }
  return demand;
}

/** Undefined when the Pod fits. A rounding error is no reason. */
export function unfitReason(
  pod: Pod,
  demand: Load,
  node: Node,
  capacity: Capacity,
  load: Load,
): string | undefined {
  if (node.spec?.unschedulable === true && !tolerates(pod, unschedulableTaint))
    return "node(s) were unschedulable";
  const taint = node.spec?.taints?.find(
    (one) => one.effect !== "PreferNoSchedule" && !tolerates(pod, one),
  );
  if (taint !== undefined)
    return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  if (!matchesNode(pod, node)) return "node(s) didn't match Pod's node affinity/selector";
  if (load.pods + demand.pods > capacity.pods) return "Too many pods";
  if (demand.cpu > 0 && load.cpu + demand.cpu > capacity.cpu + 1e-9) return "Insufficient cpu";
  if (demand.memory > 0 && load.memory + demand.memory > capacity.memory)
    return "Insufficient memory";
  return undefined;
}

const unschedulableTaint: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

export function tolerates({ spec }: Pod, taint: Taint): boolean {
  return (spec.tolerations ?? []).some((one) => isTolerated(one, taint));
}

export function isTolerated(toleration: Toleration, taint: Taint): boolean {
  const { key = "", operator = "Equal", value = "", effect = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key === "") return operator === "Exists";
  if (key !== taint.key) return false;
  return operator === "Exists" || value === (taint.value ?? "");
}

export function matchesNode({ spec }: Pod, { metadata }: Node): boolean {
  const labels = metadata.labels ?? {};
  const selector = Object.entries(spec.nodeSelector ?? {});
  if (!selector.every(([key, value]) => labels[key] === value)) return false;
  const required = member(member(spec.affinity, "nodeAffinity"), requiredTerms);
  if (required === undefined) return true;
  const terms = (required["nodeSelectorTerms"] ?? []) as JsonObject[];
  return terms.some((term) => matchesTerm(term, labels, metadata.name));
}

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";

function member(object: JsonObject | undefined, name: string): JsonObject | undefined {
  return object?.[name] as JsonObject | undefined;
}

function matchesTerm(term: JsonObject, labels: StringMap, name: string): boolean {
  const expressions = (term["matchExpressions"] ?? []) as unknown as Expression[];
  const fields = (term["matchFields"] ?? []) as unknown as Expression[];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((one) => holds(one, labels[one.key])) &&
    fields.every((one) => holds(one, one.key === "metadata.name" ? name : undefined))
  );
}

interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

function holds({ operator, values = [] }: Expression, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return value !== undefined && Number(value) > Number(values[0]);
    case "Lt":
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}
