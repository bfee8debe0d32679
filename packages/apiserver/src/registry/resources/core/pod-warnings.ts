/** Warnings about valid Pods and templates that will not do what they say, in Kubernetes' words. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors } from "@kcp-ts/machinery/names";
import { quote } from "@kcp-ts/machinery/status";
import { listIn, objectIn, textIn } from "../standard.ts";
import { addressWarnings, fractionWarnings } from "./amount-warnings.ts";
import { containersOf, containerWarnings, profileWarnings } from "./container-warnings.ts";
import {
  nodeAffinityWarnings,
  nodeLabelWarning,
  nodeSelectorWarnings,
} from "./node-label-warnings.ts";
import { volumeWarnings } from "./volume-warnings.ts";

/** A name that becomes a part of the names of Pods. */
export function podNameWarnings(object: JsonObject, use = "Pod names and hostnames"): string[] {
  const errors = dnsLabelErrors(textIn(objectIn(object, "metadata"), "name"));
  const text = `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended`;
  return errors.length === 0 ? [] : [`${text}: [${errors.join(" ")}]`];
}

/** Only a new Pod is looked at: its updates are those of machines. */
export function podWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  if (old !== undefined) return [];
  return [...podNameWarnings(object, "the Pod's hostname"), ...templateWarnings(object, "")];
}

/** For a kind with a template at `spec.template`; a change elsewhere in the spec counts, too. */
export function ownTemplateWarnings(
  object: JsonObject,
  old: JsonObject | undefined,
  { isNamePart }: { readonly isNamePart: boolean },
): string[] {
  if (!hasNewGeneration(object, old)) return [];
  return [
    ...(isNamePart && old === undefined ? podNameWarnings(object) : []),
    ...templateWarnings(objectIn(objectIn(object, "spec"), "template"), "spec.template."),
  ];
}

export function hasNewGeneration(object: JsonObject, old: JsonObject | undefined): boolean {
  const generationOf = (one: JsonObject) => objectIn(one, "metadata")["generation"];
  return old === undefined || generationOf(object) !== generationOf(old);
}

/** `prefix` is the path of the template with a dot; empty for a Pod. */
export function templateWarnings(template: JsonObject, prefix: string): string[] {
  const spec = objectIn(template, "spec");
  const annotations = objectIn(objectIn(template, "metadata"), "annotations");
  const at = `${prefix}spec`;
  const containers = containersOf(spec, at);
  const securityContext = objectIn(spec, "securityContext");
  const hasAnnotations = Object.keys(annotations).length > 0;
  return [
    ...schedulingWarnings(spec, at),
    ...(hasAnnotations ? annotationWarnings(annotations, securityContext, prefix) : []),
    ...volumeWarnings(spec["volumes"], `${at}.volumes`),
    ...repeatedWarnings(spec, at),
    ...fractionWarnings(spec["overhead"], ["memory", "ephemeral-storage"], `${at}.overhead`),
    ...(hasAnnotations
      ? containers.flatMap((one) => profileWarnings(one, { annotations, securityContext }, prefix))
      : []),
    ...containerWarnings(containers),
    ...(Number(spec["terminationGracePeriodSeconds"]) < 0
      ? [
          `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
        ]
      : []),
    ...podAffinityWarnings(objectIn(spec, "affinity"), `${at}.affinity`),
    ...listIn(objectIn(spec, "dnsConfig")["nameservers"]).flatMap((text, index) =>
      addressWarnings(String(text), `${at}.dnsConfig.nameservers[${index}]`),
    ),
    ...(listIn(spec["hostAliases"]) as readonly JsonObject[]).flatMap((alias, index) =>
      addressWarnings(textIn(alias, "ip"), `${at}.hostAliases[${index}].ip`),
    ),
  ];
}

const matchesNone = "a null labelSelector results in matching no pod";

function schedulingWarnings(spec: JsonObject, at: string): string[] {
  const { nodeSelector, affinity, topologySpreadConstraints } = spec;
  const nodes = isJsonObject(affinity) ? affinity["nodeAffinity"] : undefined;
  const constraints = listIn(topologySpreadConstraints) as readonly JsonObject[];
  return [
    ...nodeSelectorWarnings(nodeSelector, (label) => `${at}.nodeSelector[${label}]`),
    ...(isJsonObject(nodes) ? nodeAffinityWarnings(nodes, `${at}.affinity.nodeAffinity`) : []),
    ...constraints.flatMap((constraint, index) => {
      const field = `${at}.topologySpreadConstraints[${index}]`;
      const key = textIn(constraint, "topologyKey");
      const warning = nodeLabelWarning(key);
      return [
        ...(warning === undefined ? [] : [`${field}.topologyKey: ${key} is ${warning}`]),
        ...(constraint["labelSelector"] === undefined
          ? [`${field}.labelSelector: ${matchesNone}`]
          : []),
      ];
    }),
  ];
}

const deprecatedAnnotations = [
  ["scheduler.alpha.kubernetes.io/critical-pod", "v1.16+", "priorityClassName"],
  ["security.alpha.kubernetes.io/sysctls", "v1.11+", "sysctls"],
  ["security.alpha.kubernetes.io/unsafe-sysctls", "v1.11+", "sysctls"],
] as const;

function annotationWarnings(
  annotations: JsonObject,
  { seccompProfile }: JsonObject,
  prefix: string,
): string[] {
  const ofPod = ["seccomp.security.alpha.kubernetes.io/pod", "v1.27+", "seccompProfile"] as const;
  return [...deprecatedAnnotations, ...(seccompProfile === undefined ? [ofPod] : [])]
    .filter(([key]) => annotations[key] !== undefined)
    .map(
      ([key, since, field]) =>
        `${prefix}metadata.annotations[${key}]: non-functional in ${since}; use the "${field}" field instead`,
    );
}

/** Addresses and names of Secrets that occur twice, and Secrets without a name. */
function repeatedWarnings(spec: JsonObject, at: string): string[] {
  const repeated = (member: string, key: string, what: string) => {
    const seen = new Set<string>();
    return (listIn(spec[member]) as readonly JsonObject[]).flatMap((item, index) => {
      const value = textIn(item, key);
      const isRepeated = seen.has(value);
      seen.add(value);
      return isRepeated ? [`${at}.${member}[${index}].${key}: ${what} ${quote(value)}`] : [];
    });
  };
  const secrets = listIn(spec["imagePullSecrets"]) as readonly JsonObject[];
  return [
    ...repeated("hostAliases", "ip", "duplicate ip"),
    ...repeated("imagePullSecrets", "name", "duplicate name"),
    ...secrets.flatMap((secret, index) =>
      textIn(secret, "name") === ""
        ? [`${at}.imagePullSecrets[${index}].name: invalid empty name ""`]
        : [],
    ),
  ];
}

function podAffinityWarnings(affinity: JsonObject, at: string): string[] {
  return ["podAffinity", "podAntiAffinity"].flatMap((member) => {
    if (affinity[member] === undefined) return [];
    const terms = objectIn(affinity, member);
    const [hard, soft] = [
      "requiredDuringSchedulingIgnoredDuringExecution",
      "preferredDuringSchedulingIgnoredDuringExecution",
    ] as const;
    const without = (list: JsonValue | undefined, place: string, inner: string) =>
      (listIn(list) as readonly JsonObject[]).flatMap((one, index) => {
        const term = inner === "" ? one : objectIn(one, "podAffinityTerm");
        return term["labelSelector"] === undefined
          ? [`${at}.${member}.${place}[${index}]${inner}.labelSelector: ${matchesNone}`]
          : [];
      });
    return [...without(terms[hard], hard, ""), ...without(terms[soft], soft, ".podAffinityTerm")];
  });
}
