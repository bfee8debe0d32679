/** Warnings about labels of nodes that Kubernetes has given other names. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { labelValueErrors } from "@kcp-ts/machinery/names";
import { listIn, objectIn, textIn } from "../standard.ts";

const deprecatedLabels: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  [
    "failure-domain.beta.kubernetes.io/region",
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  ],
  [
    "failure-domain.beta.kubernetes.io/zone",
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ],
  [
    "beta.kubernetes.io/instance-type",
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  ],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  [
    "scheduler.alpha.kubernetes.io/preferAvoidPods",
    "deprecated since v1.22; use Taints and Tolerations instead",
  ],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
]);

export function nodeLabelWarning(label: string): string | undefined {
  return deprecatedLabels.get(label);
}

/** Of the labels that a map of labels names. */
export function nodeSelectorWarnings(
  labels: JsonValue | undefined,
  fieldOf: (label: string) => string,
): string[] {
  if (!isJsonObject(labels)) return [];
  return Object.keys(labels).flatMap((label) => {
    const warning = nodeLabelWarning(label);
    return warning === undefined ? [] : [`${fieldOf(label)}: ${warning}`];
  });
}

/** Of the keys of expressions, and of the values that no label can have. */
export function nodeTermWarnings(term: JsonObject, at: string, checksValues = false): string[] {
  return listIn(term["matchExpressions"]).flatMap((expression, index) => {
    if (!isJsonObject(expression)) return [];
    const field = `${at}.matchExpressions[${index}]`;
    const key = textIn(expression, "key");
    const warning = nodeLabelWarning(key);
    const ofKey = warning === undefined ? [] : [`${field}.key: ${key} is ${warning}`];
    if (!checksValues) return ofKey;
    const ofValues = listIn(expression["values"]).flatMap((value, place) =>
      labelValueErrors(String(value)).map(
        (error) => `${field}.values[${place}]: ${value} is invalid, ${error}`,
      ),
    );
    return [...ofKey, ...ofValues];
  });
}

/** Of a selector of nodes by their labels. */
export function topologyWarnings(selector: JsonValue | undefined, at: string): string[] {
  if (!isJsonObject(selector)) return [];
  return [
    ...nodeTermWarnings(selector, at),
    ...nodeSelectorWarnings(selector["matchLabels"], (label) => `${at}.matchLabels.${label}`),
  ];
}

/** Of the affinity of Pods to nodes. */
export function nodeAffinityWarnings(affinity: JsonObject, at: string): string[] {
  const [hard, soft] = [
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
  ] as const;
  const terms = listIn(objectIn(affinity, hard)["nodeSelectorTerms"]) as readonly JsonObject[];
  const preferences = listIn(affinity[soft]) as readonly JsonObject[];
  return [
    ...terms.flatMap((term, index) =>
      nodeTermWarnings(term, `${at}.${hard}.nodeSelectorTerms[${index}]`),
    ),
    ...preferences.flatMap((one, index) =>
      nodeTermWarnings(objectIn(one, "preference"), `${at}.${soft}[${index}].preference`, true),
    ),
  ];
}
