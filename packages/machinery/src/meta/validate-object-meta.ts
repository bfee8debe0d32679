/**
 * Validation of metadata, with the field errors of Kubernetes 1.36.
 *
 * The decoder guarantees the JSON types of the members. Not here: resourceVersion, which is checked
 * where the stored object is known, and the removal of fields that clients may not set.
 */
import type { JsonValue } from "../json/index.ts";
import { dnsLabelErrors, type NameErrors } from "../names/index.ts";
import { type FieldError, fieldError, quote } from "../status/index.ts";
import { finalizerErrors, standardFinalizerErrors } from "./finalizers.ts";
import { annotationErrors, labelErrors } from "./labels-and-annotations.ts";
import { managedFieldsErrors } from "./managed-fields.ts";
import { ownerReferenceErrors } from "./owner-references.ts";
import type { ObjectMeta } from "./types.ts";

export interface ObjectMetaRules {
  readonly isNamespaced: boolean;
  /** The rule for names of this kind of object. */
  readonly nameErrors: NameErrors;
  /** The path of the metadata; `metadata` unless it is nested, as in a Pod template. */
  readonly field?: string;
  /** Built-in kinds reject a finalizer like `foo`; custom resources may have it. */
  readonly requireQualifiedFinalizers?: boolean;
}

/**
 * Validates the metadata of an object to be created. The name is already generated if
 * `generateName` was set.
 */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules): FieldError[] {
  const field = rules.field ?? "metadata";
  const tooMany = memberLimitErrors(meta, field);
  if (tooMany !== undefined) return tooMany;
  const { generateName, generation, finalizers, managedFields } = meta;
  return [
    ...(generateName ? generateNameErrors(generateName, rules, field) : none),
    ...nameErrors(meta, rules, field),
    ...namespaceErrors(meta, rules, field),
    ...(generation ? negativeGenerationErrors(generation, field) : none),
    ...mapAndOwnerErrors(meta, field),
    ...(finalizers ? finalizerErrors(finalizers, `${field}.finalizers`) : none),
    ...(managedFields ? managedFieldsErrors(managedFields, `${field}.managedFields`) : none),
    ...(finalizers ? qualifiedFinalizerErrors(finalizers, rules, field) : none),
  ];
}

/** Most objects lack most of these: absent members are skipped. */
const none: readonly FieldError[] = [];

export type ObjectMetaUpdateRules = Pick<ObjectMetaRules, "field" | "requireQualifiedFinalizers">;

/**
 * Validates the new state of an object against the old one. Names of finalizers are not validated
 * again, as in Kubernetes: an object with an odd finalizer can still be changed.
 */
export function validateObjectMetaUpdate(
  updated: ObjectMeta,
  old: ObjectMeta,
  rules: ObjectMetaUpdateRules = {},
): FieldError[] {
  const field = rules.field ?? "metadata";
  const tooMany = memberLimitErrors(updated, field, old);
  if (tooMany !== undefined) return tooMany;
  return [
    ...newFinalizerErrors(updated, old, field),
    ...decrementedGenerationErrors(updated, old, field),
    ...immutable(`${field}.name`, updated.name ?? "", old.name ?? ""),
    ...immutable(`${field}.namespace`, updated.namespace ?? "", old.namespace ?? ""),
    ...immutable(`${field}.uid`, updated.uid ?? "", old.uid ?? ""),
    ...immutableTime(
      `${field}.creationTimestamp`,
      updated.creationTimestamp,
      old.creationTimestamp,
    ),
    ...immutableTime(
      `${field}.deletionTimestamp`,
      updated.deletionTimestamp,
      old.deletionTimestamp,
    ),
    ...immutable(
      `${field}.deletionGracePeriodSeconds`,
      updated.deletionGracePeriodSeconds ?? null,
      old.deletionGracePeriodSeconds ?? null,
    ),
    ...mapAndOwnerErrors(updated, field),
    ...managedFieldsErrors(updated.managedFields ?? [], `${field}.managedFields`),
    ...(updated.finalizers ? qualifiedFinalizerErrors(updated.finalizers, rules, field) : none),
  ];
}

function generateNameErrors(prefix: string, rules: ObjectMetaRules, field: string): FieldError[] {
  return rules
    .nameErrors(prefix, { isPrefix: true })
    .map((message) => fieldError.invalid(`${field}.generateName`, prefix, message));
}

function nameErrors(meta: ObjectMeta, rules: ObjectMetaRules, field: string): FieldError[] {
  const name = meta.name ?? "";
  if (name === "")
    return [fieldError.required(`${field}.name`, "name or generateName is required")];
  return rules
    .nameErrors(name)
    .map((message) => fieldError.invalid(`${field}.name`, name, message));
}

function namespaceErrors(meta: ObjectMeta, rules: ObjectMetaRules, field: string): FieldError[] {
  const namespace = meta.namespace ?? "";
  if (!rules.isNamespaced) {
    return namespace === ""
      ? []
      : [fieldError.forbidden(`${field}.namespace`, "not allowed on this type")];
  }
  if (namespace === "") return [fieldError.required(`${field}.namespace`)];
  return dnsLabelErrors(namespace).map((message) =>
    fieldError.invalid(`${field}.namespace`, namespace, message),
  );
}

function negativeGenerationErrors(generation: number | bigint, field: string): FieldError[] {
  if (generation >= 0) return [];
  const detail = "must be greater than or equal to 0";
  return [fieldError.invalid(`${field}.generation`, generation, detail)];
}

/** This covers negative ones: the old generation is zero or more. */
function decrementedGenerationErrors(
  updated: ObjectMeta,
  old: ObjectMeta,
  field: string,
): FieldError[] {
  const generation = updated.generation ?? 0;
  if (generation >= (old.generation ?? 0)) return [];
  return [fieldError.invalid(`${field}.generation`, generation, "must not be decremented")];
}

function mapAndOwnerErrors(
  { labels, annotations, ownerReferences }: ObjectMeta,
  field: string,
): FieldError[] {
  return [
    ...(labels ? labelErrors(labels, `${field}.labels`) : none),
    ...(annotations ? annotationErrors(annotations, `${field}.annotations`) : none),
    ...(ownerReferences ? ownerReferenceErrors(ownerReferences, `${field}.ownerReferences`) : none),
  ];
}

function qualifiedFinalizerErrors(
  finalizers: readonly string[],
  rules: ObjectMetaUpdateRules,
  field: string,
): FieldError[] {
  return rules.requireQualifiedFinalizers === true
    ? standardFinalizerErrors(finalizers, `${field}.finalizers`)
    : [];
}

/** A terminating object must not get new finalizers. */
function newFinalizerErrors(updated: ObjectMeta, old: ObjectMeta, field: string): FieldError[] {
  if ((old.deletionTimestamp ?? "") === "") return [];
  const known = new Set(old.finalizers ?? []);
  const extra = [...new Set(updated.finalizers ?? [])].filter((it) => !known.has(it)).sort();
  if (extra.length === 0) return [];
  const shown = `[]string{${extra.map(quote).join(", ")}}`;
  return [
    fieldError.forbidden(
      `${field}.finalizers`,
      `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`,
    ),
  ];
}

function immutable(field: string, updated: JsonValue, old: JsonValue): FieldError[] {
  return updated === old ? [] : [fieldError.invalid(field, updated, "field is immutable")];
}

type Time = string | null | undefined;

/** Times are compared as instants: `…T00:00:00Z` is `…T01:00:00+01:00`. */
function immutableTime(field: string, updated: Time, old: Time): FieldError[] {
  const isSame = (updated ?? "") === (old ?? "") || sameInstant(updated, old);
  return isSame ? [] : immutable(field, updated ?? null, old ?? null);
}

function sameInstant(a: Time, b: Time): boolean {
  return Date.parse(a ?? "") === Date.parse(b ?? "");
}

/**
 * The maximum number of labels, finalizers, owners and managers of an object. Kubernetes bounds
 * them by the size of a request alone; each of them is validated, owned by managers and processed
 * by controllers individually.
 */
export const labelsMax = 2_000;
export const finalizersMax = 1_000;
export const ownerReferencesMax = 1_000;
export const managersMax = 2_000;

/**
 * Undefined when none of the limits is exceeded. An object that already exceeds a limit may keep
 * its members.
 */
function memberLimitErrors(
  meta: ObjectMeta,
  field: string,
  old: ObjectMeta = {},
): FieldError[] | undefined {
  let errors: FieldError[] | undefined;
  for (const [name, max] of limits) {
    if (!meta[name]) continue;
    const found = countOf(meta[name]);
    if (found <= max || found <= countOf(old[name] ?? [])) continue;
    errors ??= [];
    errors.push(fieldError.tooMany(`${field}.${name}`, found, max));
  }
  return errors;
}

const limits = [
  ["labels", labelsMax],
  ["finalizers", finalizersMax],
  ["ownerReferences", ownerReferencesMax],
  ["managedFields", managersMax],
] as const;

function countOf(members: object): number {
  return Array.isArray(members) ? members.length : Object.keys(members).length;
}
