/** Validates admission policies, validating and mutating ones; compiles their expressions. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  dns1035LabelErrors,
  dnsSubdomainErrors,
  qualifiedNameErrors,
} from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { limitErrors } from "./admission-limits.ts";
import { type ExpressionContext, expressionErrors } from "./expression-errors.ts";
import {
  choiceErrors,
  failurePolicies,
  matchConditionErrors,
  matchResourcesErrors,
  reinvocationPolicies,
} from "./rule-errors.ts";

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const auditAnnotationsMax = 20;
const auditExpressionLengthMax = 5 * 1024;
const patchTypes = ["ApplyConfiguration", "JSONPatch"];
/** A deletion cannot be mutated. */
const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

export function validatingPolicyErrors(object: JsonObject): FieldError[] {
  const tooMuch = limitErrors(object, "spec");
  if (tooMuch.length > 0) return tooMuch;
  const spec = objectIn(object, "spec");
  const { name } = object["metadata"] as { name?: string };
  const expression = contextOf(spec);
  const errors = policyErrors(spec, expression);
  const [validations, annotations] = [spec["validations"], spec["auditAnnotations"]];
  if (listIn(validations).length === 0 && listIn(annotations).length === 0) {
    const why = "validations or auditAnnotations must contain at least one item";
    return [
      ...errors,
      fieldError.required("spec.validations", why),
      fieldError.required("spec.auditAnnotations", why),
    ];
  }
  errors.push(
    ...itemErrors<JsonObject>(validations, "spec.validations", (validation, field) =>
      validationErrors(validation, field, expression),
    ),
  );
  const count = listIn(annotations).length;
  if (count > auditAnnotationsMax) {
    const why = `must not have more than ${auditAnnotationsMax} auditAnnotations`;
    errors.push(fieldError.invalid("spec.auditAnnotations", listIn(annotations), why));
  }
  return [...errors, ...auditErrors(annotations, name ?? "", expression)];
}

export function mutatingPolicyErrors(object: JsonObject): FieldError[] {
  const tooMuch = limitErrors(object, "spec");
  if (tooMuch.length > 0) return tooMuch;
  const spec = objectIn(object, "spec");
  const context = contextOf(spec);
  const errors = [
    ...policyErrors(spec, context),
    ...mutatingOperationErrors(spec["matchConstraints"], "spec.matchConstraints"),
  ];
  const { mutations, reinvocationPolicy } = spec;
  if (listIn(mutations).length === 0)
    errors.push(fieldError.required("spec.mutations", "mutations must contain at least one item"));
  errors.push(
    ...itemErrors<JsonObject>(mutations, "spec.mutations", (mutation, field) =>
      mutationErrors(mutation, field, context),
    ),
  );
  return reinvocationPolicy === undefined
    ? [...errors, fieldError.required("spec.reinvocationPolicy")]
    : [
        ...errors,
        ...choiceErrors(reinvocationPolicy, "spec.reinvocationPolicy", reinvocationPolicies),
      ];
}

export function mutatingOperationErrors(match: JsonValue | undefined, field: string): FieldError[] {
  const path = `${field}.resourceRules.operations`;
  return itemErrors<JsonObject>(
    isJsonObject(match) ? match["resourceRules"] : undefined,
    path,
    (rule) =>
      itemErrors<string>(rule["operations"], path, (operation) =>
        choiceErrors(operation, path, mutatingOperations),
      ),
  );
}

/**
 * Validates the fields of both kinds of policies. Match conditions come before variables, and
 * cannot use them.
 */
function policyErrors(spec: JsonObject, context: Available): FieldError[] {
  const { paramKind, matchConstraints, failurePolicy } = spec;
  const errors = choiceErrors(failurePolicy, "spec.failurePolicy", failurePolicies);
  if (isJsonObject(paramKind)) errors.push(...paramKindErrors(paramKind, "spec.paramKind"));
  if (matchConstraints === undefined) errors.push(fieldError.required("spec.matchConstraints"));
  else {
    errors.push(...matchResourcesErrors(matchConstraints, "spec.matchConstraints"));
    if (listIn(objectIn(spec, "matchConstraints")["resourceRules"]).length === 0)
      errors.push(fieldError.required("spec.matchConstraints.resourceRules"));
  }
  return [
    ...errors,
    ...matchConditionErrors(spec["matchConditions"], "spec.matchConditions", context),
    ...itemErrors<JsonObject>(spec["variables"], "spec.variables", (variable, field) =>
      variableErrors(variable, field, context),
    ),
  ];
}

type Available = Pick<
  ExpressionContext,
  "hasParams" | "hasAuthorizer" | "variables" | "isMutating"
>;

function contextOf(spec: JsonObject): Available {
  return {
    isMutating: spec["mutations"] !== undefined,
    hasParams: isJsonObject(spec["paramKind"]),
    hasAuthorizer: true,
    variables: listIn(spec["variables"]).length > 0 ? new Map() : undefined,
  };
}

function paramKindErrors(paramKind: JsonObject, field: string): FieldError[] {
  const [apiVersion, kind] = [textIn(paramKind, "apiVersion"), textIn(paramKind, "kind")];
  const errors = apiVersionErrors(apiVersion, `${field}.apiVersion`);
  if (kind === "") return [...errors, fieldError.required(`${field}.kind`)];
  const wrong = dns1035LabelErrors(kind.toLowerCase());
  const why = `may have mixed case, but should otherwise match: ${wrong.join(",")}`;
  return wrong.length === 0 ? errors : [...errors, fieldError.invalid(`${field}.kind`, kind, why)];
}

function apiVersionErrors(apiVersion: string, field: string): FieldError[] {
  if (apiVersion === "") return [fieldError.required(field)];
  const parts = apiVersion.split("/");
  if (parts.length > 2) {
    const why = `unexpected GroupVersion string: ${apiVersion}`;
    return [fieldError.invalid(field, apiVersion, why)];
  }
  const version = parts.at(-1) ?? "";
  const group = parts.length === 2 ? (parts[0] ?? "") : "";
  const errors: FieldError[] = [];
  const wrongGroup = group === "" ? [] : dnsSubdomainErrors(group);
  if (wrongGroup.length > 0) errors.push(fieldError.invalid(field, group, wrongGroup.join(",")));
  if (version === "")
    return [...errors, fieldError.invalid(field, apiVersion, "version must be specified")];
  const wrongVersion = dns1035LabelErrors(version);
  if (wrongVersion.length > 0)
    errors.push(fieldError.invalid(field, version, wrongVersion.join(",")));
  return errors;
}

const reserved = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

function variableErrors(variable: JsonObject, field: string, context: Available): FieldError[] {
  const [name, expression] = [textIn(variable, "name"), textIn(variable, "expression")];
  const errors: FieldError[] = [];
  if (name.trim() === "")
    errors.push(fieldError.required(`${field}.name`, "name is not specified"));
  else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || reserved.has(name))
    errors.push(fieldError.invalid(`${field}.name`, name, "must be a valid CEL identifier"));
  if (expression.trim() === "")
    return [...errors, fieldError.required(`${field}.expression`, "expression is not specified")];
  const at = { ...context, field: `${field}.expression`, result: "any", declares: name } as const;
  return [...errors, ...expressionErrors(expression, at)];
}

function validationErrors(validation: JsonObject, field: string, context: Available): FieldError[] {
  const [expression, message, messageExpression] = [
    textIn(validation, "expression"),
    textIn(validation, "message"),
    textIn(validation, "messageExpression"),
  ];
  const errors =
    expression.trim() === ""
      ? [fieldError.required(`${field}.expression`, "expression is not specified")]
      : expressionErrors(expression, { ...context, field: `${field}.expression`, result: "bool" });
  const empty = "must be non-empty if specified";
  if (messageExpression !== "") {
    const at = `${field}.messageExpression`;
    errors.push(
      ...(messageExpression.trim() === ""
        ? [fieldError.invalid(at, messageExpression, empty)]
        : expressionErrors(messageExpression, {
            ...context,
            hasAuthorizer: false,
            field: at,
            result: "string",
          })),
    );
  }
  if (message !== "" && message.trim() === "")
    errors.push(fieldError.invalid(`${field}.message`, message, empty));
  else if (/[\n\r]/.test(message.trim()))
    errors.push(fieldError.invalid(`${field}.message`, message, "must not contain line breaks"));
  return [...errors, ...choiceErrors(validation["reason"], `${field}.reason`, reasons)];
}

function auditErrors(
  annotations: JsonValue | undefined,
  policy: string,
  context: Available,
): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<JsonObject>(annotations, "spec.auditAnnotations", (annotation, field) => {
    const key = textIn(annotation, "key");
    const expression = textIn(annotation, "valueExpression").trim();
    const full = `${policy}/${key}`;
    const errors = qualifiedNameErrors(full).map((message) =>
      fieldError.invalid(`${field}.key`, full, message),
    );
    const at = `${field}.valueExpression`;
    if (expression === "") errors.push(fieldError.required(at, "valueExpression is not specified"));
    else if (expression.length > auditExpressionLengthMax)
      errors.push(
        fieldError.required(at, `must not exceed ${auditExpressionLengthMax} bytes in length`),
      );
    else
      errors.push(
        ...expressionErrors(expression, { ...context, field: at, result: "stringOrNull" }),
      );
    if (seen.has(key)) errors.push(fieldError.duplicate(`${field}.key`, key));
    seen.add(key);
    return errors;
  });
}

function mutationErrors(mutation: JsonObject, field: string, context: Available): FieldError[] {
  const type = textIn(mutation, "patchType");
  if (type === "") return [fieldError.required(`${field}.patchType`)];
  if (!patchTypes.includes(type))
    return [fieldError.notSupported(`${field}.patchType`, type, patchTypes)];
  const [wanted, other] =
    type === "JSONPatch"
      ? (["jsonPatch", "applyConfiguration"] as const)
      : (["applyConfiguration", "jsonPatch"] as const);
  const errors: FieldError[] = [];
  if (mutation[wanted] === undefined)
    errors.push(
      fieldError.required(`${field}.${wanted}`, `must be specified when patchType is ${type}`),
    );
  else errors.push(...mutatingExpressionErrors(mutation, field, wanted, context));
  if (mutation[other] !== undefined) {
    const why = `must not be specified when patchType is ${type}`;
    errors.push(fieldError.invalid(`${field}.${other}`, `{${other}}`, why));
  }
  return errors;
}

function mutatingExpressionErrors(
  mutation: JsonObject,
  field: string,
  wanted: "applyConfiguration" | "jsonPatch",
  context: Available,
): FieldError[] {
  const expression = textIn(objectIn(mutation, wanted), "expression");
  const path = `${field}.${wanted}.expression`;
  if (expression.trim() === "") return [fieldError.required(path)];
  return expressionErrors(expression, { ...context, field: path, result: wanted });
}
