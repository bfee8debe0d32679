/** Validates names, group and API approval of a CRD. */
import { type FieldError, fieldError } from "../status/index.ts";
import type { CrdNames, CustomResourceDefinition } from "./crd.ts";
import { dns1035LabelErrors, dns1123SubdomainErrors } from "./dns-names.ts";
import { isRequestUri } from "./format-net.ts";

export interface CrdNameOptions {
  /**
   * Accepts groups without a dot and the core group (`spec.group: ""`, named `<plural>.core`),
   * which Kubernetes reserves for built-in types. For CRDs that replace these.
   */
  readonly allowBuiltInGroups: boolean;
}

/** The only valid name of a CRD. */
export function crdName(plural: string, group: string): string {
  return `${plural}.${group === "" ? "core" : group}`;
}

export function validateCrdName(
  { name, spec }: CustomResourceDefinition,
  { allowBuiltInGroups }: CrdNameOptions,
): FieldError[] {
  const required =
    allowBuiltInGroups && spec.group === ""
      ? crdName(spec.names.plural, "")
      : `${spec.names.plural}.${spec.group}`;
  if (name === "")
    return [fieldError.required("metadata.name", "name or generateName is required")];
  const complaints = dns1123SubdomainErrors(name);
  if (name !== required) complaints.push('must be spec.names.plural+"."+spec.group');
  return complaints.map((text) => fieldError.invalid("metadata.name", name, text));
}

export function validateGroup(group: string, { allowBuiltInGroups }: CrdNameOptions): FieldError[] {
  const path = "spec.group";
  if (group === "") return allowBuiltInGroups ? [] : [fieldError.required(path)];
  const complaints = dns1123SubdomainErrors(group);
  if (complaints.length > 0) return [fieldError.invalid(path, group, complaints.join(","))];
  if (!group.includes(".") && !allowBuiltInGroups)
    return [fieldError.invalid(path, group, "should be a domain with at least one dot")];
  return [];
}

/** Names that a spec must have; a status may omit them. */
export function validateRequiredNames(names: CrdNames, path: string): FieldError[] {
  return (["plural", "singular", "kind", "listKind"] as const)
    .filter((key) => names[key] === "")
    .map((key) => fieldError.required(`${path}.${key}`));
}

export function validateNames(names: CrdNames, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const check = (field: string, name: string, mixedCase: boolean): void => {
    const complaints = dns1035LabelErrors(mixedCase ? name.toLowerCase() : name);
    if (complaints.length === 0) return;
    const prefix = mixedCase ? "may have mixed case, but should otherwise match: " : "";
    errors.push(fieldError.invalid(`${path}.${field}`, name, prefix + complaints.join(",")));
  };
  if (names.plural !== "") check("plural", names.plural, false);
  if (names.singular !== "") check("singular", names.singular, false);
  if (names.kind !== "") check("kind", names.kind, true);
  if (names.listKind !== "") check("listKind", names.listKind, true);
  for (const [i, name] of names.shortNames.entries()) check(`shortNames[${i}]`, name, false);
  if (names.kind !== "" && names.kind === names.listKind) {
    const detail = "kind and listKind may not be the same";
    errors.push(fieldError.invalid(`${path}.listKind`, names.listKind, detail));
  }
  for (const [i, name] of names.categories.entries()) check(`categories[${i}]`, name, false);
  return errors;
}

export const approvalAnnotation = "api-approved.kubernetes.io";

/**
 * Set to "true" on a definition that stands for a kind that Kubernetes builds in: a server that has
 * the kind serves its own implementation, which the schema only narrows.
 */
export const nativeKindAnnotation = "workload.kcp.io/native-kind";

const approvalSource = "see https://github.com/kubernetes/enhancements/pull/1111";

type Approval = "approved" | "bypassed" | "missing" | "invalid";

/**
 * Groups of the Kubernetes community need its approval, or an annotation with the reason why not.
 */
export function validateApproval(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(crd.spec.group)) return [];
  const state = approvalOf(crd);
  if (old !== undefined && approvalOf(old) === state) return [];
  const path = `metadata.annotations[${approvalAnnotation}]`;
  if (state === "missing") {
    const detail = `protected groups must have approval annotation "${approvalAnnotation}", ${approvalSource}`;
    return [fieldError.required(path, detail)];
  }
  if (state === "invalid") {
    const detail = `protected groups must have approval annotation "${approvalAnnotation}" with either a URL or a reason starting with "unapproved", ${approvalSource}`;
    return [fieldError.invalid(path, crd.annotations.get(approvalAnnotation) ?? "", detail)];
  }
  return [];
}

function approvalOf(crd: CustomResourceDefinition): Approval {
  const annotation = crd.annotations.get(approvalAnnotation) ?? "";
  if (annotation === "") return "missing";
  if (annotation.startsWith("unapproved")) return "bypassed";
  const hasHost = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]+/.test(annotation);
  return hasHost && isRequestUri(annotation) ? "approved" : "invalid";
}
