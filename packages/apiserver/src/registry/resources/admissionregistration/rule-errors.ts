/** Validates the request matching of webhooks and policies: rules, selectors, match conditions. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { pathSegmentErrors, qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import { itemErrors, listIn, textIn } from "../standard.ts";
import { expressionErrors } from "./expression-errors.ts";

export const failurePolicies = ["Fail", "Ignore"];
export const matchPolicies = ["Equivalent", "Exact"];
export const reinvocationPolicies = ["IfNeeded", "Never"];
const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];
const matchConditionsMax = 64;

/** Validates an optional value of a closed set. */
export function choiceErrors(
  value: JsonValue | undefined,
  field: string,
  choices: readonly string[],
): FieldError[] {
  return value === undefined || choices.includes(String(value))
    ? []
    : [fieldError.notSupported(field, value, choices)];
}

export function ruleErrors(rule: JsonObject, field: string): FieldError[] {
  const asked = listIn(rule["operations"]);
  const path = `${field}.operations`;
  return [
    ...wildcardErrors(asked, path, "operations"),
    ...itemErrors<string>(rule["operations"], path, (operation, at) =>
      choiceErrors(operation, at, operations),
    ),
    ...wildcardErrors(listIn(rule["apiGroups"]), `${field}.apiGroups`, "API groups"),
    ...wildcardErrors(listIn(rule["apiVersions"]), `${field}.apiVersions`, "API versions"),
    ...itemErrors(rule["apiVersions"], `${field}.apiVersions`, (version, at) =>
      version === "" ? [fieldError.required(at)] : [],
    ),
    ...resourceErrors(rule["resources"], `${field}.resources`),
    ...choiceErrors(rule["scope"], `${field}.scope`, scopes),
  ];
}

/** At least one value, and a wildcard only alone. */
function wildcardErrors(values: readonly JsonValue[], field: string, what: string): FieldError[] {
  if (values.length === 0) return [fieldError.required(field)];
  return values.length > 1 && values.includes("*")
    ? [fieldError.invalid(field, values, `if '*' is present, must not specify other ${what}`)]
    : [];
}

function resourceErrors(value: JsonValue | undefined, field: string): FieldError[] {
  const resources = listIn(value);
  if (resources.length === 0) return [fieldError.required(field)];
  const withAnySubresource = new Set<string>();
  const ofAnyResource = new Set<string>();
  let namesResource = false;
  const errors = itemErrors<string>(value, field, (name, at) => {
    if (name === "") return [fieldError.required(at)];
    const slash = name.indexOf("/");
    if (slash < 0) {
      namesResource = name !== "*";
      return [];
    }
    const [resource, subresource] = [name.slice(0, slash), name.slice(slash + 1)];
    const covered = [
      ...(withAnySubresource.has(resource) ? [`${resource}/*`] : []),
      ...(ofAnyResource.has(subresource) ? [`*/${subresource}`] : []),
    ];
    if (subresource === "*") withAnySubresource.add(resource);
    if (resource === "*") ofAnyResource.add(subresource);
    return covered.map((by) =>
      fieldError.invalid(at, name, `if '${by}' is present, must not specify ${name}`),
    );
  });
  if (resources.length > 1 && resources.includes("*/*")) {
    const why = "if '*/*' is present, must not specify other resources";
    errors.push(fieldError.invalid(field, resources, why));
  }
  if (resources.includes("*") && namesResource) {
    const why = "if '*' is present, must not specify other resources without subresources";
    errors.push(fieldError.invalid(field, resources, why));
  }
  return errors;
}

/** Validates a policy's or binding's matchConstraints. */
export function matchResourcesErrors(value: JsonValue | undefined, field: string): FieldError[] {
  if (!isJsonObject(value)) return [];
  const named = (rule: JsonObject, at: string) => [
    ...nameErrors(rule["resourceNames"], `${at}.resourceNames`),
    ...ruleErrors(rule, at),
  ];
  return [
    ...choiceErrors(value["matchPolicy"], `${field}.matchPolicy`, matchPolicies),
    ...labelSelectorErrors(value["namespaceSelector"], `${field}.namespaceSelector`),
    ...labelSelectorErrors(value["objectSelector"], `${field}.objectSelector`),
    ...itemErrors(value["resourceRules"], `${field}.resourceRules`, named),
    ...itemErrors(value["excludeResourceRules"], `${field}.excludeResourceRules`, named),
  ];
}

function nameErrors(value: JsonValue | undefined, field: string): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<string>(value, field, (name, at) => {
    const errors = pathSegmentErrors(name).map((message) => fieldError.invalid(at, name, message));
    if (seen.has(name)) errors.push(fieldError.duplicate(at, name));
    seen.add(name);
    return errors;
  });
}

export function matchConditionErrors(
  value: JsonValue | undefined,
  field: string,
  { hasParams }: { readonly hasParams: boolean },
): FieldError[] {
  const count = listIn(value).length;
  const tooMany =
    count > matchConditionsMax ? [fieldError.tooMany(field, count, matchConditionsMax)] : [];
  const seen = new Set<string>();
  const errors = itemErrors<JsonObject>(value, field, (condition, at) => {
    const [name, expression] = [textIn(condition, "name"), textIn(condition, "expression").trim()];
    const found: FieldError[] =
      expression === ""
        ? [fieldError.required(`${at}.expression`)]
        : expressionErrors(expression, {
            field: `${at}.expression`,
            result: "bool",
            hasParams,
            hasAuthorizer: true,
          });
    if (name === "") return [...found, fieldError.required(`${at}.name`)];
    for (const message of qualifiedNameErrors(name))
      found.push(fieldError.invalid(`${at}.name`, name, message));
    if (seen.has(name)) found.push(fieldError.duplicate(`${at}.name`, name));
    seen.add(name);
    return found;
  });
  return [...tooMany, ...errors];
}
