/** The four questions about what may be done. They are asked and answered; nothing of them is stored. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import {
  localSubjectAccessReview,
  type MessageShape,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../../definition.ts";
import { review } from "../review.ts";
import { listIn, objectIn, textIn } from "../standard.ts";

const group = "authorization.k8s.io";

export const subjectAccessReviews = accessReview("SubjectAccessReview", {
  shape: subjectAccessReview,
  isNamespaced: false,
  validate: (object) => [
    ...attributeErrors(objectIn(object, "spec")),
    ...subjectErrors(objectIn(object, "spec")),
    ...metadataErrors(object, []),
  ],
});

export const localSubjectAccessReviews = accessReview("LocalSubjectAccessReview", {
  shape: localSubjectAccessReview,
  isNamespaced: true,
  validate: (object) => [
    ...attributeErrors(objectIn(object, "spec")),
    ...subjectErrors(objectIn(object, "spec")),
    ...metadataErrors(object, ["namespace"]),
    ...localErrors(object),
  ],
});

export const selfSubjectAccessReviews = accessReview("SelfSubjectAccessReview", {
  shape: selfSubjectAccessReview,
  isNamespaced: false,
  validate: (object) => [
    ...attributeErrors(objectIn(object, "spec")),
    ...metadataErrors(object, []),
  ],
});

export const selfSubjectRulesReviews = accessReview("SelfSubjectRulesReview", {
  shape: selfSubjectRulesReview,
  isNamespaced: false,
  validate: () => [],
});

interface Review {
  readonly shape: MessageShape;
  readonly isNamespaced: boolean;
  readonly validate: (object: JsonObject) => FieldError[];
}

function accessReview(kind: string, options: Review): ResourceDefinition {
  return review({ group, kind, ...options });
}

function attributeErrors(spec: JsonObject): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const errors: FieldError[] = [];
  if (isJsonObject(resourceAttributes) && isJsonObject(nonResourceAttributes)) {
    errors.push(
      fieldError.invalid(
        "spec.nonResourceAttributes",
        nonResourceAttributes,
        "cannot be specified in combination with resourceAttributes",
      ),
    );
  }
  if (!isJsonObject(resourceAttributes) && !isJsonObject(nonResourceAttributes)) {
    errors.push(
      fieldError.invalid(
        "spec.resourceAttributes",
        null,
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
      ),
    );
  }
  if (!isJsonObject(resourceAttributes)) return errors;
  return [
    ...errors,
    ...selectorErrors(resourceAttributes, "fieldSelector"),
    ...selectorErrors(resourceAttributes, "labelSelector"),
  ];
}

/** A selector is given as text or taken apart. */
function selectorErrors(attributes: JsonObject, member: string): FieldError[] {
  const selector = attributes[member];
  if (!isJsonObject(selector)) return [];
  const field = `spec.resourceAttributes.${member}`;
  const raw = textIn(selector, "rawSelector");
  const hasRequirements = listIn(selector["requirements"]).length > 0;
  if (raw !== "" && hasRequirements) {
    const detail = "may not specified at the same time as requirements";
    return [fieldError.invalid(`${field}.rawSelector`, raw, detail)];
  }
  if (raw === "" && !hasRequirements) {
    const detail = `when ${field} is specified, requirements or rawSelector is required`;
    return [fieldError.required(`${field}.requirements`, detail)];
  }
  return [];
}

function subjectErrors(spec: JsonObject): FieldError[] {
  if (textIn(spec, "user") !== "" || listIn(spec["groups"]).length > 0) return [];
  return [fieldError.invalid("spec.user", "", "at least one of user or group must be specified")];
}

function metadataErrors(object: JsonObject, allowed: readonly string[]): FieldError[] {
  const metadata = objectIn(object, "metadata");
  const others = Object.keys(metadata).filter(
    (member) => member !== "managedFields" && !allowed.includes(member),
  );
  if (others.length === 0) return [];
  const but = [...allowed, "managedFields"].join(" and ");
  return [fieldError.invalid("metadata", metadata, `must be empty except for ${but}`)];
}

function localErrors(object: JsonObject): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = objectIn(object, "spec");
  const errors: FieldError[] = [];
  if (isJsonObject(resourceAttributes)) {
    const namespace = textIn(resourceAttributes, "namespace");
    if (namespace !== textIn(objectIn(object, "metadata"), "namespace")) {
      const detail = "must match metadata.namespace";
      errors.push(fieldError.invalid("spec.resourceAttributes.namespace", namespace, detail));
    }
  }
  if (isJsonObject(nonResourceAttributes)) {
    const detail = "disallowed on this kind of request";
    errors.push(fieldError.invalid("spec.nonResourceAttributes", nonResourceAttributes, detail));
  }
  return errors;
}
