/**
 * The fields that a cluster sets on Pods, in addition to Kubernetes' defaults, and the QoS class.
 */
import {
  type Draft,
  mutableMember,
  mutableMemberIfPresent,
  setDefault,
  setPodDefaults,
  setPodSpecDefaults,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";

/** The defaults of Pod templates: without the fields that only Pods get. */
export function setTemplateDefaults(spec: Draft, member = "template"): void {
  const template = mutableMember(spec, member);
  const metadata = mutableMemberIfPresent(template, "metadata");
  // Protobuf clients send a generation of 0, which means nothing here.
  if (metadata?.["generation"] === 0) delete metadata["generation"];
  setPodSpecDefaults(mutableMember(template, "spec"));
}

const waitForNodeSeconds = 300;

/**
 * The fields that admission sets on new Pods in a real cluster: a ServiceAccount, a priority,
 * tolerations for nodes that are not ready.
 */
export function setAdmittedDefaults(draft: Draft): void {
  const spec = mutableMember(draft, "spec");
  setPodDefaults(spec);
  setDefault(spec, "serviceAccountName", "default");
  setDefault(spec, "serviceAccount", spec["serviceAccountName"] ?? "default");
  setDefault(spec, "preemptionPolicy", "PreemptLowerPriority");
  setDefault(spec, "priority", 0);
}

export function addDefaultTolerations(draft: Draft): void {
  const spec = draft["spec"] as Draft;
  const tolerations = Array.isArray(spec["tolerations"])
    ? (spec["tolerations"] as JsonObject[])
    : [];
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) =>
      !tolerations.some(
        (one) =>
          (one["key"] === key || one["key"] === undefined) &&
          (one["effect"] === "NoExecute" || one["effect"] === undefined),
      ),
  );
  spec["tolerations"] = [
    ...tolerations,
    ...missing.map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: waitForNodeSeconds,
    })),
  ];
}

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
