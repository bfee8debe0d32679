/** Validates a label selector in an object, with upstream's messages. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { labelErrors } from "@kcp-ts/machinery/meta";
import { labelValueErrors, qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { selectorRequirementsMax } from "@kcp-ts/machinery/selectors";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { itemErrors, listIn, objectIn, textIn } from "./standard.ts";

export function labelSelectorErrors(selector: JsonValue | undefined, field: string): FieldError[] {
  if (!isJsonObject(selector)) return [];
  const labels = objectIn(selector, "matchLabels") as Record<string, string>;
  const requirements = Object.keys(labels).length + listIn(selector["matchExpressions"]).length;
  if (requirements > selectorRequirementsMax)
    return [fieldError.tooMany(field, requirements, selectorRequirementsMax)];
  return [
    ...labelErrors(labels, `${field}.matchLabels`),
    ...itemErrors(selector["matchExpressions"], `${field}.matchExpressions`, requirementErrors),
  ];
}

function requirementErrors(requirement: JsonObject, field: string): FieldError[] {
  const operator = textIn(requirement, "operator");
  return [
    ...(operators.has(operator)
      ? []
      : [fieldError.invalid(`${field}.operator`, operator, "not a valid selector operator")]),
    ...labelRequirementErrors(requirement, field),
  ];
}

const operators: ReadonlySet<string> = new Set(["In", "NotIn", "Exists", "DoesNotExist"]);

/** Validates a requirement whose operator may be unknown. */
export function labelRequirementErrors(requirement: JsonObject, field: string): FieldError[] {
  const key = textIn(requirement, "key");
  return [
    ...valueCountErrors(requirement, field),
    ...qualifiedNameErrors(key).map((message) => fieldError.invalid(`${field}.key`, key, message)),
    ...itemErrors<string>(requirement["values"], `${field}.values`, (value, path) =>
      labelValueErrors(value).map((message) => fieldError.invalid(path, value, message)),
    ),
  ];
}

/** Checks that the operator has values where it needs some, and none where it needs none. */
export function valueCountErrors(requirement: JsonObject, field: string): FieldError[] {
  const valueCount = listIn(requirement["values"]).length;
  switch (requirement["operator"]) {
    case "In":
    case "NotIn":
      return valueCount > 0
        ? []
        : [
            fieldError.required(
              `${field}.values`,
              "must be specified when `operator` is 'In' or 'NotIn'",
            ),
          ];
    case "Exists":
    case "DoesNotExist":
      return valueCount === 0
        ? []
        : [
            fieldError.forbidden(
              `${field}.values`,
              "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
          ];
    default:
      return [];
  }
}
