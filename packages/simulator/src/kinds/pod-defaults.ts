/** The fields that a cluster sets on Pods, in addition to Kubernetes' defaults. */
import { type Draft, mutableMember, setDefault, setPodDefaults } from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";

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
