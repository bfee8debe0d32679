/** Finalizers: names of controllers that must act before an object is removed. */
import { qualifiedNameErrors } from "../names/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { collectErrors } from "./collect-errors.ts";

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

/**
 * The stricter rule of built-in kinds: a name without a domain must be one of the standard ones.
 */
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
