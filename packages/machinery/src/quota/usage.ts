/** What an object uses of the names that quotas limit. */
import type { JsonObject } from "../json/index.ts";
import {
  type Amounts,
  countAmount,
  type MutableAmounts,
  objectAt,
  objectsAt,
  parseAmount,
  parseAmounts,
  zero,
} from "./amounts.ts";
import {
  countNames,
  isExtendedResource,
  isHugePages,
  type MeasuredResource,
  storageClassSuffix,
} from "./measured-names.ts";
import { hasPodLevelResources, podLimits, podRequests } from "./pod-amounts.ts";

export function usageOf(measured: MeasuredResource, object: JsonObject, nowMs: number): Amounts {
  const usage: MutableAmounts = new Map();
  for (const name of countNames(measured)) usage.set(name, one);
  if (measured.group !== "") return usage;
  if (measured.resource === "pods") addPodUsage(usage, object, nowMs);
  else if (measured.resource === "services") addServiceUsage(usage, object);
  else if (measured.resource === "persistentvolumeclaims") addClaimUsage(usage, object);
  return usage;
}

const one = countAmount(1);

/** A Pod that has ended, or should have, is an object and uses nothing else. */
function addPodUsage(usage: MutableAmounts, pod: JsonObject, nowMs: number): void {
  if (hasEnded(pod, nowMs)) {
    usage.delete("pods");
    return;
  }
  const spec = objectAt(pod, "spec");
  for (const [name, amount] of computeUsage(podRequests(spec), podLimits(spec)))
    usage.set(name, amount);
}

function hasEnded(pod: JsonObject, nowMs: number): boolean {
  const { phase } = objectAt(pod, "status");
  if (phase === "Succeeded" || phase === "Failed") return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = objectAt(pod, "metadata");
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false;
  return nowMs > Date.parse(String(deletionTimestamp)) + Number(deletionGracePeriodSeconds) * 1000;
}

const computeResources = ["cpu", "memory", "ephemeral-storage"] as const;

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage: MutableAmounts = new Map();
  for (const name of computeResources) {
    const [request, limit] = [requests.get(name), limits.get(name)];
    if (request !== undefined) usage.set(name, request).set(`requests.${name}`, request);
    if (limit !== undefined) usage.set(`limits.${name}`, limit);
  }
  for (const [name, amount] of requests) {
    if (isHugePages(name)) usage.set(name, amount);
    if (isHugePages(name) || isExtendedResource(name)) usage.set(`requests.${name}`, amount);
  }
  return usage;
}

/** A quota of these requires them of each container: the others came later, and do not. */
const requiredNames: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "requests.cpu",
  "requests.memory",
  "limits.cpu",
  "limits.memory",
]);

/** The reason why a Pod cannot be charged to a quota that limits the names, or undefined. */
export function missingOfPod(names: readonly string[], pod: JsonObject): string | undefined {
  const required = names.filter((name) => requiredNames.has(name)).toSorted();
  const spec = objectAt(pod, "spec");
  if (required.length === 0 || hasPodLevelResources(spec)) return undefined;
  const containers = [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")].map(
    (container) => {
      const { requests, limits } = objectAt(container, "resources");
      const usage = computeUsage(parseAmounts(requests), parseAmounts(limits));
      return { name: String(container["name"]), usage };
    },
  );
  const missing = required.flatMap((name) => {
    const lacking = containers.filter(({ usage }) => !usage.has(name)).map((one) => one.name);
    return lacking.length === 0
      ? []
      : [`${name} for: ${[...new Set(lacking)].toSorted().join(",")}`];
  });
  return missing.length === 0 ? undefined : `must specify ${missing.join("; ")}`;
}

/** Ports of the nodes are counted by intent: they are not yet allocated. */
function addServiceUsage(usage: MutableAmounts, service: JsonObject): void {
  const spec = objectAt(service, "spec");
  const ports = objectsAt(spec, "ports");
  const { type, allocateLoadBalancerNodePorts } = spec;
  const isBalancer = type === "LoadBalancer";
  const given = ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
  const isEachAllocated = type === "NodePort" || allocateLoadBalancerNodePorts !== false;
  const nodePorts = isEachAllocated ? ports.length : given;
  const hasNodePorts = isBalancer || type === "NodePort";
  usage.set("services.loadbalancers", isBalancer ? one : zero);
  usage.set("services.nodeports", hasNodePorts ? countAmount(nodePorts) : zero);
}

const storageClassAnnotation = "volume.beta.kubernetes.io/storage-class";

function addClaimUsage(usage: MutableAmounts, claim: JsonObject): void {
  const spec = objectAt(claim, "spec");
  const annotations = objectAt(objectAt(claim, "metadata"), "annotations");
  const storageClass = String(
    annotations[storageClassAnnotation] ?? spec["storageClassName"] ?? "",
  );
  const { storage } = objectAt(objectAt(spec, "resources"), "requests");
  const { storage: allocated } = objectAt(objectAt(claim, "status"), "allocatedResources");
  const byClass = (name: string) => `${storageClass}${storageClassSuffix}${name}`;
  if (storageClass !== "") usage.set(byClass("persistentvolumeclaims"), one);
  if (storage === undefined) return;
  const [asked, given] = [wholeBytes(parseAmount(storage)), wholeBytes(parseAmount(allocated))];
  const needed = given.nanos > asked.nanos ? given : asked;
  usage.set("requests.storage", needed);
  if (storageClass !== "") usage.set(byClass("requests.storage"), needed);
}

function wholeBytes(amount: { readonly nanos: bigint; readonly isBinary: boolean }) {
  return { ...amount, nanos: ((amount.nanos + one.nanos - 1n) / one.nanos) * one.nanos };
}
