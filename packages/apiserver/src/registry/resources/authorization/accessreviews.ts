/** The four access reviews: answered, and never stored. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  localSubjectAccessReview,
  type MessageShape,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../../resource-definition.ts";
import { labelRequirementErrors, valueCountErrors } from "../label-selector-errors.ts";
import { review } from "../review.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const group = "authorization.k8s.io";

export const subjectAccessReviews = accessReview("SubjectAccessReview", {
  shape: subjectAccessReview,
  isNamespaced: false,
  validate: (object) => [
    ...attributeErrors(objectIn(object, "spec")),
    ...subjectErrors(objectIn(object, "spec")),
    ...selectorErrors(objectIn(object, "spec")),
    ...metadataErrors(object),
  ],
});

export const localSubjectAccessReviews = accessReview("LocalSubjectAccessReview", {
  shape: localSubjectAccessReview,
  isNamespaced: true,
  validate: (object) => [
    ...attributeErrors(objectIn(object, "spec")),
    ...subjectErrors(objectIn(object, "spec")),
    ...selectorErrors(objectIn(object, "spec")),
    ...metadataErrors(object, "namespace"),
    ...localErrors(object),
  ],
});

export const selfSubjectAccessReviews = accessReview("SelfSubjectAccessReview", {
  shape: selfSubjectAccessReview,
  isNamespaced: false,
  validate: (object) => [
    ...attributeErrors(objectIn(object, "spec")),
    ...selectorErrors(objectIn(object, "spec")),
    ...metadataErrors(object),
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
  return errors;
}

/**
 * A selector is given as text or as requirements. Unknown operators of newer clients are not
 * errors.
 */
function selectorErrors(spec: JsonObject): FieldError[] {
  const { fieldSelector, labelSelector } = objectIn(spec, "resourceAttributes");
  const at = "spec.resourceAttributes";
  return [
    ...formErrors(fieldSelector, `${at}.fieldSelector`, fieldRequirementErrors),
    ...formErrors(labelSelector, `${at}.labelSelector`, labelRequirementErrors),
  ];
}

function formErrors(
  selector: JsonValue | undefined,
  field: string,
  check: (requirement: JsonObject, field: string) => FieldError[],
): FieldError[] {
  if (!isJsonObject(selector)) return [];
  const raw = textIn(selector, "rawSelector");
  const { requirements } = selector;
  const hasRequirements = listIn(requirements).length > 0;
  if (raw === "" && !hasRequirements) {
    const detail = `when ${field} is specified, requirements or rawSelector is required`;
    return [fieldError.required(`${field}.requirements`, detail)];
  }
  const detail = "may not specified at the same time as requirements";
  return [
    ...(raw !== "" && hasRequirements
      ? [fieldError.invalid(`${field}.rawSelector`, raw, detail)]
      : []),
    ...itemErrors(requirements, `${field}.requirements`, check),
  ];
}

function fieldRequirementErrors(requirement: JsonObject, field: string): FieldError[] {
  return [
    ...(textIn(requirement, "key") === ""
      ? [fieldError.required(`${field}.key`, "must be specified")]
      : []),
    ...valueCountErrors(requirement, field),
  ];
}

function subjectErrors(spec: JsonObject): FieldError[] {
  if (textIn(spec, "user") !== "" || listIn(spec["groups"]).length > 0) return [];
  return [fieldError.invalid("spec.user", "", "at least one of user or group must be specified")];
}

function metadataErrors(object: JsonObject, allowed?: "namespace"): FieldError[] {
  const metadata = objectIn(object, "metadata");
  const others = Object.keys(metadata).filter(
    (member) => member !== "managedFields" && member !== allowed,
  );
  if (others.length === 0) return [];
  const detail = allowed === undefined ? "must be empty" : `must be empty except for ${allowed}`;
  return [fieldError.invalid("metadata", metadata, detail)];
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
