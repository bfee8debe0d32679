/** Rules of when a Job fails or succeeds, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { labelNameErrorsAt, negativeErrors } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const failureRulesMax = 20;
const conditionsMax = 20;
const exitCodesMax = 255;
const successRulesMax = 20;
const indexesBytesMax = 64 * 1024;

/** A member of these values, which the message of a missing one lists as Go prints them. */
function choiceErrors(
  holder: JsonObject,
  member: string,
  values: readonly string[],
  at: string,
): FieldError[] {
  const value = textIn(holder, member);
  const field = `${at}.${member}`;
  const listed = values.map((one) => JSON.stringify(one)).join(" ");
  if (value === "") return [fieldError.required(field, `valid values: [${listed}]`)];
  return values.includes(value) ? [] : [fieldError.notSupported(field, value, values)];
}

export function failurePolicyErrors(spec: JsonObject, field: string): FieldError[] {
  if (!isJsonObject(spec["podFailurePolicy"])) return [];
  const { rules } = objectIn(spec, "podFailurePolicy");
  const at = `${field}.podFailurePolicy.rules`;
  const count = listIn(rules).length;
  const pod = objectIn(objectIn(spec, "template"), "spec");
  const all = [...listIn(pod["containers"]), ...listIn(pod["initContainers"])];
  const containers = new Set(all.map((one) => textIn(one as JsonObject, "name")));
  return [
    ...(count > failureRulesMax ? [fieldError.tooMany(at, count, failureRulesMax)] : []),
    ...itemErrors<JsonObject>(rules, at, (rule, place) => [
      ...actionErrors(rule, place, spec),
      ...(isJsonObject(rule["onExitCodes"])
        ? exitCodeErrors(objectIn(rule, "onExitCodes"), `${place}.onExitCodes`, containers)
        : []),
      ...conditionErrors(rule["onPodConditions"], `${place}.onPodConditions`),
      ...oneRequirementErrors(rule, place),
    ]),
  ];
}

function actionErrors(rule: JsonObject, at: string, spec: JsonObject): FieldError[] {
  if (rule["action"] !== "FailIndex")
    return choiceErrors(rule, "action", ["Count", "FailIndex", "FailJob", "Ignore"], at);
  const detail = "requires the backoffLimitPerIndex to be set";
  return spec["backoffLimitPerIndex"] === undefined
    ? [fieldError.invalid(`${at}.action`, "FailIndex", detail)]
    : [];
}

function oneRequirementErrors(rule: JsonObject, at: string): FieldError[] {
  const hasCodes = isJsonObject(rule["onExitCodes"]);
  const hasConditions = listIn(rule["onPodConditions"]).length > 0;
  if (hasCodes !== hasConditions) return [];
  const detail = hasCodes
    ? "specifying both OnExitCodes and OnPodConditions is not supported"
    : "specifying one of OnExitCodes and OnPodConditions is required";
  return [fieldError.invalidWithoutValue(at, detail)];
}

function exitCodeErrors(
  requirement: JsonObject,
  at: string,
  containers: ReadonlySet<string>,
): FieldError[] {
  const { containerName } = requirement;
  const errors = choiceErrors(requirement, "operator", ["In", "NotIn"], at);
  if (containerName !== undefined && !containers.has(String(containerName)))
    errors.push(
      fieldError.invalid(
        `${at}.containerName`,
        containerName,
        "must be one of the container or initContainer names in the pod template",
      ),
    );
  const values = listIn(requirement["values"]) as readonly number[];
  const field = `${at}.values`;
  if (values.length === 0)
    errors.push(
      fieldError.invalid(field, requirement["values"] ?? null, "at least one value is required"),
    );
  else if (values.length > exitCodesMax)
    errors.push(fieldError.tooMany(field, values.length, exitCodesMax));
  const seen = new Set<number>();
  const isIn = requirement["operator"] === "In";
  for (const [index, value] of values.entries()) {
    const place = `${field}[${index}]`;
    if (isIn && value === 0)
      errors.push(fieldError.invalid(place, value, "must not be 0 for the In operator"));
    if (seen.has(value)) errors.push(fieldError.duplicate(place, value));
    seen.add(value);
  }
  if (values.some((value, index) => index > 0 && (values[index - 1] as number) > value))
    errors.push(fieldError.invalid(field, values as JsonValue, "must be ordered"));
  return errors;
}

function conditionErrors(conditions: JsonValue | undefined, at: string): FieldError[] {
  const count = listIn(conditions).length;
  return [
    ...(count > conditionsMax ? [fieldError.tooMany(at, count, conditionsMax)] : []),
    ...itemErrors<JsonObject>(conditions, at, (one, place) => [
      ...labelNameErrorsAt(textIn(one, "type"), `${place}.type`),
      ...choiceErrors(one, "status", ["False", "True", "Unknown"], place),
    ]),
  ];
}

export function successPolicyErrors(spec: JsonObject, field: string): FieldError[] {
  const policy = spec["successPolicy"];
  if (!isJsonObject(policy)) return [];
  const at = `${field}.successPolicy`;
  if (spec["completionMode"] !== "Indexed")
    return [fieldError.invalid(at, policy, "requires indexed completion mode")];
  const rules = `${at}.rules`;
  const count = listIn(policy["rules"]).length;
  const errors: FieldError[] = [];
  if (count === 0)
    errors.push(
      fieldError.required(
        rules,
        "at least one rules must be specified when the successPolicy is specified",
      ),
    );
  if (count > successRulesMax) errors.push(fieldError.tooMany(rules, count, successRulesMax));
  const completions = Number(spec["completions"] ?? 0);
  return [
    ...errors,
    ...itemErrors<JsonObject>(policy["rules"], rules, (rule, place) =>
      successRuleErrors(rule, place, completions),
    ),
  ];
}

function successRuleErrors(rule: JsonObject, at: string, completions: number): FieldError[] {
  const { succeededCount: count, succeededIndexes } = rule;
  const neither = "at least one of succeededCount or succeededIndexes must be specified";
  if (count === undefined && succeededIndexes === undefined)
    return [fieldError.required(at, neither)];
  const errors: FieldError[] = [];
  const indexes = String(succeededIndexes ?? "");
  const parsed = countIndexes(indexes, completions);
  const field = `${at}.succeededIndexes`;
  if (indexes.length > indexesBytesMax) errors.push(fieldError.tooLong(field, indexesBytesMax));
  if (typeof parsed === "string")
    errors.push(fieldError.invalid(field, indexes, `error parsing succeededIndexes: ${parsed}`));
  if (count === undefined) return errors;
  const place = `${at}.succeededCount`;
  errors.push(...negativeErrors(rule, ["succeededCount"], at));
  const tooMany = (max: number, what: string) =>
    errors.push(
      fieldError.invalid(
        place,
        count,
        `must be less than or equal to ${max} (the number of ${what})`,
      ),
    );
  if (Number(count) > completions) tooMany(completions, "specified completions");
  const total = typeof parsed === "string" ? 0 : parsed;
  if (succeededIndexes !== undefined && Number(count) > total)
    tooMany(total, "indexes in the specified succeededIndexes field");
  return errors;
}

/** The number of indexes in a text like `1,3-5`, or what is wrong with it. */
function countIndexes(text: string, completions: number): number | string {
  let [total, last] = [0, -1];
  for (const interval of text === "" ? [] : text.split(",")) {
    const limits = interval.split("-");
    if (limits.length > 2)
      return `the fragment "${interval}" violates the requirement that an index interval can have at most two parts separated by '-'`;
    const numbers = limits.map((limit) => (/^[+-]?\d+$/.test(limit) ? Number(limit) : Number.NaN));
    const [first = 0, end = first] = numbers;
    const bad = limits.find((_, index) => Number.isNaN(numbers[index]));
    if (bad !== undefined)
      return `cannot convert string to integer for index: ${JSON.stringify(bad)}`;
    for (const [index, limit] of numbers.entries())
      if (limit >= completions) return `too large index: ${JSON.stringify(limits[index])}`;
    if (last >= first) return `non-increasing order, previous: ${last}, current: ${first}`;
    if (first > end) return `non-increasing order, previous: ${first}, current: ${end}`;
    total += end - first + 1;
    last = end;
  }
  return total;
}

export function replacementPolicyErrors(spec: JsonObject, field: string): FieldError[] {
  const policy = spec["podReplacementPolicy"];
  const values =
    spec["podFailurePolicy"] === undefined ? ["Failed", "TerminatingOrFailed"] : ["Failed"];
  return policy === undefined || values.includes(String(policy))
    ? []
    : [fieldError.notSupported(`${field}.podReplacementPolicy`, policy, values)];
}
