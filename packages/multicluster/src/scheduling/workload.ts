/**
 * The properties of a workload that decide which clusters are feasible. Any kind with a Pod
 * template is a workload; clusters define kinds themselves, so every field is validated.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { StringMap } from "@kcp-ts/sdk";
import { podsResource, type Toleration, workloadsResource } from "../api/index.ts";
import {
  addTo,
  maxOfEach,
  multipliedBy,
  noResources,
  parseResourceAmounts,
  type ResourceAmounts,
} from "./resource-amounts.ts";

export interface SchedulableWorkload {
  readonly namespace: string;
  readonly name: string;
  /** The resource, such as `deployments.apps`. */
  readonly resource: string;
  readonly labels: StringMap;
  /** The requests of each replica; a Pod requests 1 of `pods`. */
  readonly requests: ResourceAmounts;
  /** The tolerations of the Pod template: they apply to taints of nodes and of clusters. */
  readonly tolerations: readonly Toleration[];
}

export function schedulableWorkloadOf(
  { metadata, spec }: WorkloadObject,
  { resource, template = templateOf(spec) }: WorkloadShape,
): SchedulableWorkload {
  const pod = member(template, "spec");
  const { namespace = "", name, labels = {} } = metadata;
  return {
    namespace,
    name,
    resource,
    labels,
    requests: requestsOf(pod),
    tolerations: listOf(pod, "tolerations") as readonly Toleration[],
  };
}

export interface WorkloadObject {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly labels?: StringMap | undefined;
  };
  readonly spec?: JsonValue | undefined;
}

export interface WorkloadShape {
  readonly resource: string;
  /** The Pod template where it is not `.spec.template`; undefined for none. */
  readonly template?: JsonObject | undefined;
}

/** The reservation of a copy with this many replicas. */
export function reservationOf(requests: ResourceAmounts, replicas: number): ResourceAmounts {
  // A workload without Pods reserves nothing.
  if (requests.size === 0) return requests;
  return recall(reservations, requests, replicas, () => {
    const reserved = new Map(multipliedBy(requests, replicas));
    return reserved.set(workloadsResource, 1000);
  });
}

/** Cache: copies with the same requests and replicas have the same reservation. */
const reservations = new WeakMap<ResourceAmounts, Map<number, ResourceAmounts>>();

function recall<Value>(
  known: WeakMap<ResourceAmounts, Map<number, Value>>,
  requests: ResourceAmounts,
  replicas: number,
  compute: () => Value,
): Value {
  const bySize = known.get(requests) ?? new Map<number, Value>();
  known.set(requests, bySize);
  let value = bySize.get(replicas);
  if (value === undefined) {
    value = compute();
    bySize.set(replicas, value);
  }
  return value;
}

/**
 * The requests of a Pod as kube-scheduler computes them: containers add up, and an init container
 * counts only where it requests more.
 */
export function requestsOf(pod: JsonObject | undefined): ResourceAmounts {
  if (pod === undefined) return noResources;
  if (!isJsonObject(pod)) return sumRequests(pod);
  let requests = known.get(pod);
  if (requests === undefined) {
    requests = sumRequests(pod);
    known.set(pod, requests);
  }
  return requests;
}

/** Cache: the same workload is evaluated for each of its copies. */
const known = new WeakMap<JsonObject, ResourceAmounts>();

function sumRequests(pod: JsonObject): ResourceAmounts {
  const sum = new Map<string, number>();
  for (const container of listOf(pod, "containers")) addTo(sum, requestsIn(container));
  let before: ResourceAmounts = new Map();
  const besides = new Map<string, number>();
  for (const container of listOf(pod, "initContainers")) {
    const own = requestsIn(container);
    if (member<JsonValue>(container, "restartPolicy") === "Always") {
      addTo(besides, own);
      before = maxOfEach(before, besides);
    } else {
      const peak = new Map(besides);
      addTo(peak, own);
      before = maxOfEach(before, peak);
    }
  }
  addTo(sum, besides);
  const needed = new Map(maxOfEach(sum, before));
  // Pod-level resources apply to all containers of the Pod together.
  for (const [name, amount] of requestsIn(pod)) needed.set(name, amount);
  addTo(needed, parseResourceAmounts(member(pod, "overhead")));
  needed.set(podsResource, 1000);
  return needed;
}

/** The requests of a container; a limit without a request is the request. */
function requestsIn(container: JsonValue | undefined): ResourceAmounts {
  const resources = member(container, "resources");
  const limits = parseResourceAmounts(member(resources, "limits"));
  return new Map([...limits, ...parseResourceAmounts(member(resources, "requests"))]);
}

function templateOf(spec: JsonValue | undefined): JsonObject | undefined {
  return member(spec, "template");
}

function member<Value = JsonObject>(value: JsonValue | undefined, name: string): Value | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? (value[name] as Value) : undefined;
}

function listOf(value: JsonValue | undefined, name: string): readonly JsonObject[] {
  const found: unknown = member(value, name);
  return Array.isArray(found) ? found.filter((one: JsonValue) => isJsonObject(one)) : [];
}
