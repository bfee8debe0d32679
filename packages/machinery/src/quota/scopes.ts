/** The scopes of a quota: which Pods and claims it measures. */
import type { JsonObject } from "../json/index.ts";
import { objectAt, objectsAt, parseAmounts } from "./amounts.ts";
import type { MeasuredResource } from "./measured-names.ts";

/** Whether a quota with the spec measures the object: without scopes, it measures every one. */
export function matchesScopes(
  spec: JsonObject,
  { group, resource }: MeasuredResource,
  object: JsonObject,
): boolean {
  const requirements = requirementsOf(spec);
  if (requirements.length === 0) return true;
  if (group !== "") return false;
  if (resource === "pods") return requirements.every((one) => isPodInScope(one, object));
  if (resource === "persistentvolumeclaims")
    return requirements.every((one) => isClaimInScope(one, object));
  return false;
}

export function hasScopes(spec: JsonObject): boolean {
  return requirementsOf(spec).length > 0;
}

interface Requirement {
  readonly scope: string;
  readonly operator: string;
  readonly values: readonly string[];
}

function requirementsOf(spec: JsonObject): readonly Requirement[] {
  const { scopes } = spec;
  const plain = (Array.isArray(scopes) ? scopes : []).map((scope) => ({
    scope: String(scope),
    operator: "Exists",
    values: [],
  }));
  const selected = objectsAt(objectAt(spec, "scopeSelector"), "matchExpressions").map(
    ({ scopeName, operator, values }) => ({
      scope: String(scopeName),
      operator: String(operator),
      values: Array.isArray(values) ? values.map(String) : [],
    }),
  );
  return [...plain, ...selected];
}

/** Whether a Pod has a deadline, by which scopes distinguish it. */
export function isTerminatingPod(pod: JsonObject): boolean {
  return Number(objectAt(pod, "spec")["activeDeadlineSeconds"] ?? -1) >= 0;
}

function isPodInScope(requirement: Requirement, pod: JsonObject): boolean {
  const spec = objectAt(pod, "spec");
  switch (requirement.scope) {
    case "Terminating":
      return isTerminatingPod(pod);
    case "NotTerminating":
      return !isTerminatingPod(pod);
    case "BestEffort":
      return isBestEffort(pod);
    case "NotBestEffort":
      return !isBestEffort(pod);
    case "PriorityClass": {
      const name = String(spec["priorityClassName"] ?? "");
      return isSelected(requirement, name === "" ? [] : [name]);
    }
    case "CrossNamespacePodAffinity":
      return hasCrossNamespaceAffinity(objectAt(spec, "affinity"));
    default:
      return false;
  }
}

function isClaimInScope(requirement: Requirement, claim: JsonObject): boolean {
  if (requirement.scope !== "VolumeAttributesClass") return false;
  const status = objectAt(claim, "status");
  const names = [
    objectAt(claim, "spec")["volumeAttributesClassName"],
    status["currentVolumeAttributesClassName"],
    objectAt(status, "modifyVolumeStatus")["targetVolumeAttributesClassName"],
  ].filter((name): name is string => typeof name === "string" && name !== "");
  return isSelected(requirement, names);
}

function isSelected({ operator, values }: Requirement, names: readonly string[]): boolean {
  switch (operator) {
    case "Exists":
      return names.length > 0;
    case "DoesNotExist":
      return names.length === 0;
    case "In":
      return names.some((name) => values.includes(name));
    case "NotIn":
      return !names.some((name) => values.includes(name));
    default:
      return false;
  }
}

function isBestEffort(pod: JsonObject): boolean {
  const { qosClass } = objectAt(pod, "status");
  if (typeof qosClass === "string" && qosClass !== "") return qosClass === "BestEffort";
  const spec = objectAt(pod, "spec");
  const owners = [spec, ...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")];
  return owners.every((owner) => {
    const { requests, limits } = objectAt(owner, "resources");
    return [requests, limits].every((list) => {
      const amounts = parseAmounts(list);
      return ["cpu", "memory"].every((name) => (amounts.get(name)?.nanos ?? 0n) === 0n);
    });
  });
}

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

function hasCrossNamespaceAffinity(affinity: JsonObject): boolean {
  return ["podAffinity", "podAntiAffinity"].some((member) => {
    const rules = objectAt(affinity, member);
    const terms = [
      ...objectsAt(rules, required),
      ...objectsAt(rules, preferred).map((one) => objectAt(one, "podAffinityTerm")),
    ];
    return terms.some(({ namespaces, namespaceSelector }) => {
      const hasNames = Array.isArray(namespaces) && namespaces.length > 0;
      return hasNames || namespaceSelector !== undefined;
    });
  });
}
