/** Validates bindings of admission policies. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors, pathSegmentErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import { duplicateErrors, itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { limitErrors } from "./admission-limits.ts";
import { mutatingOperationErrors } from "./policy-rules.ts";
import { choiceErrors, matchResourcesErrors } from "./rule-errors.ts";

const actions = ["Audit", "Deny", "Warn"];

export function validatingBindingErrors(object: JsonObject): FieldError[] {
  const tooMuch = limitErrors(object, "spec");
  if (tooMuch.length > 0) return tooMuch;
  const { validationActions } = objectIn(object, "spec");
  return [...bindingErrors(object), ...actionErrors(validationActions, "spec.validationActions")];
}

export function mutatingBindingErrors(object: JsonObject): FieldError[] {
  const tooMuch = limitErrors(object, "spec");
  if (tooMuch.length > 0) return tooMuch;
  const { matchResources } = objectIn(object, "spec");
  return [
    ...bindingErrors(object),
    ...mutatingOperationErrors(matchResources, "spec.matchResources"),
  ];
}

function bindingErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const policy = textIn(spec, "policyName");
  const field = "spec.policyName";
  return [
    ...(policy === ""
      ? [fieldError.required(field)]
      : dnsSubdomainErrors(policy).map((message) => fieldError.invalid(field, policy, message))),
    ...paramRefErrors(spec["paramRef"], "spec.paramRef"),
    ...matchResourcesErrors(spec["matchResources"], "spec.matchResources"),
  ];
}

function paramRefErrors(value: JsonValue | undefined, field: string): FieldError[] {
  if (!isJsonObject(value)) return [];
  const { selector, parameterNotFoundAction: action } = value;
  const name = textIn(value, "name");
  const errors = pathSegmentErrors(name).map((message) =>
    fieldError.invalid(`${field}.name`, name, message),
  );
  const exclusive = "name and selector are mutually exclusive";
  if (name !== "" && selector !== undefined)
    errors.push(fieldError.forbidden(`${field}.name`, exclusive));
  errors.push(...labelSelectorErrors(selector, `${field}.selector`));
  if (name !== "" && selector !== undefined)
    errors.push(fieldError.forbidden(`${field}.selector`, exclusive));
  if (name === "" && selector === undefined)
    errors.push(fieldError.required(field, "one of name or selector must be specified"));
  const at = `${field}.parameterNotFoundAction`;
  return [
    ...errors,
    ...(action === undefined || action === ""
      ? [fieldError.required(at)]
      : choiceErrors(action, at, ["Deny", "Allow"])),
  ];
}

function actionErrors(value: JsonValue | undefined, field: string): FieldError[] {
  const chosen = listIn(value);
  if (chosen.length === 0)
    return [fieldError.required(field, "at least one validation action is required")];
  const errors = [
    ...itemErrors<string>(value, field, (action, at) => choiceErrors(action, at, actions)),
    ...duplicateErrors(value, field),
  ];
  if (chosen.includes("Deny") && chosen.includes("Warn")) {
    const why =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    errors.push(fieldError.invalid(field, chosen, why));
  }
  return errors;
}
