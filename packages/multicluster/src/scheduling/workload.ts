/** What of a workload decides where it may go. Any kind with a Pod template is one; clusters define kinds for themselves, so nothing is taken for granted. */
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
} from "./amounts.ts";

export interface SchedulableWorkload {
  readonly namespace: string;
  readonly name: string;
  /** As in `deployments.apps`. */
  readonly resource: string;
  readonly labels: StringMap;
  /** What each replica asks for; a Pod is one of `pods`. */
  readonly requests: ResourceAmounts;
  /** Those of the Pod template: who tolerates a taint of nodes tolerates it of clusters. */
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
  /** The Pod template where it is not `.spec.template`; undefined in JSON for none. */
  readonly template?: JsonObject | undefined;
}

/** What a part with so many replicas takes away from what others may ask for. */
export function reservationOf(requests: ResourceAmounts, replicas: number): ResourceAmounts {
  // What makes no Pods takes nothing.
  if (requests.size === 0) return requests;
  return recall(reservations, requests, replicas, () => {
    const reserved = new Map(multipliedBy(requests, replicas));
    return reserved.set(workloadsResource, 1000);
  });
}

/** Of the same requests, parts with the same share take the same. */
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

/** As a scheduler of Pods counts: containers add up, what runs before them only counts where it is more. */
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

/** A whole is asked about for each of its parts. */
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
  // What is said of the Pod as a whole is said of all of its containers.
  for (const [name, amount] of requestsIn(pod)) needed.set(name, amount);
  addTo(needed, parseResourceAmounts(member(pod, "overhead")));
  needed.set(podsResource, 1000);
  return needed;
}

/** Where only a limit is said, it is what is asked for. */
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
