/** Owner references: the object is deleted with its owners. */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { collectErrors } from "./collect-errors.ts";
import type { OwnerReference } from "./types.ts";

export function ownerReferenceErrors(sent: readonly OwnerReference[], field: string): FieldError[] {
  const references = sent.map(decoded);
  return [
    ...collectErrors(references, (reference) => referenceErrors(reference, field)),
    ...controllerErrors(references, field),
  ];
}

export interface DeduplicatedOwnerReferences {
  readonly ownerReferences: readonly OwnerReference[];
  /** Undefined when nothing was removed. */
  readonly warning: string | undefined;
}

/** References that are compared between two yields to the event loop. */
const comparedAtOnce = 500;

/**
 * Removes duplicates of the same reference. References to one owner that differ in any field stay.
 * A body may have tens of thousands before the validation rejects their number.
 */
export function* deduplicateOwnerReferences(
  references: readonly OwnerReference[],
  options: { readonly afterMutatingAdmission?: boolean } = {},
): Resumable<DeduplicatedOwnerReferences> {
  const seen = new Set<string>();
  const ownerReferences: OwnerReference[] = [];
  const removedUids: string[] = [];
  const pace = new YieldCounter(comparedAtOnce);
  for (const reference of references) {
    if (pace.isTime()) yield;
    const text = JSON.stringify(decoded(reference));
    if (seen.has(text)) removedUids.push(reference.uid);
    else ownerReferences.push(reference);
    seen.add(text);
  }
  if (removedUids.length === 0) return { ownerReferences: references, warning: undefined };
  const when = options.afterMutatingAdmission === true ? " after mutating admission happens" : "";
  return {
    ownerReferences,
    warning: `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${removedUids.join(", ")}`,
  };
}

/**
 * The fields that count, in the order in which Kubernetes shows them. Fields that a client omitted
 * are empty.
 */
function decoded(sent: OwnerReference): OwnerReference {
  const { apiVersion = "", kind = "", name = "", uid = "", controller, blockOwnerDeletion } = sent;
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(typeof controller === "boolean" ? { controller } : {}),
    ...(typeof blockOwnerDeletion === "boolean" ? { blockOwnerDeletion } : {}),
  };
}

function referenceErrors(reference: OwnerReference, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const [group, version] = groupAndVersion(reference.apiVersion);
  const { apiVersion, kind, name, uid } = reference;
  if (version === "")
    errors.push(fieldError.invalid(`${field}.apiVersion`, apiVersion, "version must not be empty"));
  if (kind === "") errors.push(fieldError.invalid(`${field}.kind`, kind, "must not be empty"));
  if (name === "") errors.push(fieldError.invalid(`${field}.name`, name, "must not be empty"));
  if (uid === "") errors.push(fieldError.invalid(`${field}.uid`, uid, "must not be empty"));
  // An Event lives for an hour; no object should be deleted with it.
  if (group === "" && version === "v1" && kind === "Event")
    errors.push(
      fieldError.invalid(field, reference, "/v1, Kind=Event is disallowed from being an owner"),
    );
  return errors;
}

function groupAndVersion(apiVersion: string): readonly [group: string, version: string] {
  const parts = apiVersion.split("/", 3);
  if (parts.length === 1) return ["", apiVersion];
  return parts.length === 2 ? [parts[0] as string, parts[1] as string] : ["", ""];
}

/**
 * The error shows all references, so one such error is enough even if there are more than two
 * controllers.
 */
function controllerErrors(references: readonly OwnerReference[], field: string): FieldError[] {
  const [first, second] = references
    .filter(({ controller }) => controller === true)
    .map(({ kind, name }) => `${kind}/${name}`);
  if (first === undefined || second === undefined) return [];
  const detail = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`;
  return [fieldError.invalid(field, references, detail)];
}
