/**
 * The maximum number of labels, finalizers, owners and managers of an object. Kubernetes bounds
 * them by the size of a request alone; each of them is validated, owned by managers and processed
 * by controllers individually.
 */
import { type FieldError, fieldError } from "../status/index.ts";
import type { ObjectMeta } from "./types.ts";

export const labelsMax = 2_000;
export const finalizersMax = 1_000;
export const ownerReferencesMax = 1_000;
export const managersMax = 2_000;

/**
 * Undefined when none of the limits is exceeded. An object that already exceeds a limit may keep
 * its members.
 */
export function memberLimitErrors(
  meta: ObjectMeta,
  field: string,
  old: ObjectMeta = {},
): FieldError[] | undefined {
  let errors: FieldError[] | undefined;
  for (const { name, max, count } of limits) {
    const found = count(meta);
    if (found <= max || found <= count(old)) continue;
    errors ??= [];
    errors.push(fieldError.tooMany(`${field}.${name}`, found, max));
  }
  return errors;
}

const limits = [
  {
    name: "labels",
    max: labelsMax,
    count: ({ labels }: ObjectMeta) => (labels ? Object.keys(labels).length : 0),
  },
  {
    name: "finalizers",
    max: finalizersMax,
    count: ({ finalizers }: ObjectMeta) => finalizers?.length ?? 0,
  },
  {
    name: "ownerReferences",
    max: ownerReferencesMax,
    count: ({ ownerReferences }: ObjectMeta) => ownerReferences?.length ?? 0,
  },
  {
    name: "managedFields",
    max: managersMax,
    count: ({ managedFields }: ObjectMeta) => managedFields?.length ?? 0,
  },
] as const;
