/**
 * How many labels, finalizers, owners and managers an object may have. Kubernetes bounds them by the size of a request alone; each of
 * them is judged, owned by managers and acted on by control loops, one by one.
 */
import { type FieldError, fieldError } from "../status/index.ts";
import type { ObjectMeta } from "./types.ts";

export const labelsMax = 2_000;
export const finalizersMax = 1_000;
export const ownerReferencesMax = 1_000;
export const managersMax = 2_000;

/** Undefined when there are few enough of all of them to be looked at. An object that has more already may keep them. */
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
