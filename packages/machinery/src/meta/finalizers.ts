/** Finalizers: names of controllers that must act before an object is removed. */
import { qualifiedNameErrors } from "../names/index.ts";
import { type FieldError, fieldError, quote } from "../status/index.ts";
import { collectErrors, errorsPerFieldMax } from "./collect-errors.ts";

export const orphanFinalizer = "orphan";
export const foregroundDeletionFinalizer = "foregroundDeletion";
const standardFinalizers = new Set([orphanFinalizer, foregroundDeletionFinalizer, "kubernetes"]);

export function finalizerErrors(finalizers: readonly string[], field: string): FieldError[] {
  const errors = collectErrors(finalizers, (finalizer) =>
    qualifiedNameErrors(finalizer).map((message) => fieldError.invalid(field, finalizer, message)),
  );
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundDeletionFinalizer)) {
    const detail = `finalizer ${orphanFinalizer} and ${foregroundDeletionFinalizer} cannot be both set`;
    errors.push(fieldError.invalid(field, finalizers, detail));
  }
  return errors;
}

/** The stricter rule of built-in kinds: a name without a domain must be one of the standard ones. */
export function standardFinalizerErrors(
  finalizers: readonly string[],
  field: string,
): FieldError[] {
  const detail = "name is neither a standard finalizer name nor is it fully qualified";
  return collectErrors(finalizers, (finalizer, i) =>
    finalizer.includes("/") || standardFinalizers.has(finalizer)
      ? []
      : [fieldError.invalid(`${field}[${i}]`, finalizer, detail)],
  );
}

/**
 * Warnings for custom resources, where other names are legal and unwise. The first hundred
 * finalizers are checked.
 */
export function finalizerWarnings(
  finalizers: readonly string[] | null | undefined,
  field = "metadata.finalizers",
): string[] {
  return (finalizers ?? []).slice(0, errorsPerFieldMax).flatMap((finalizer) => {
    const start = `${field}: ${quote(finalizer)}:`;
    const warnings = qualifiedNameErrors(finalizer).map((message) => `${start} ${message}`);
    if (finalizer.includes("/") || standardFinalizers.has(finalizer)) return warnings;
    const path = finalizer.includes(".") ? " including a path (/)" : "";
    return [
      ...warnings,
      `${start} prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
    ];
  });
}
