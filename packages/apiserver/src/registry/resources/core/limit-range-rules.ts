/** The rules of LimitRanges, in the words of Kubernetes. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { quantityNanos } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { labelNameErrorsAt } from "../rules.ts";
import { itemErrors, objectIn, textIn } from "../standard.ts";
import { isOfContainers, isOvercommitable, standardResources } from "./resource-rules.ts";

const types: ReadonlySet<string> = new Set(["Pod", "Container", "PersistentVolumeClaim"]);
/** Names without a domain that Kubernetes knows, besides those of containers. */
const otherResources: ReadonlySet<string> = new Set(["storage", "pods"]);
const one = 1_000_000_000n;

export function limitRangeErrors(object: JsonObject): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<JsonObject>(objectIn(object, "spec")["limits"], "spec.limits", (limit, at) => {
    const type = textIn(limit, "type");
    const errors = typeErrors(type, `${at}.type`);
    if (seen.has(type)) errors.push(fieldError.duplicate(`${at}.type`, type));
    seen.add(type);
    return [...errors, ...amountErrors(limit, type, at)];
  });
}

function typeErrors(type: string, field: string): FieldError[] {
  const errors = labelNameErrorsAt(type, field);
  if (errors.length > 0 || type.includes("/") || types.has(type)) return errors;
  return [fieldError.invalid(field, type, "must be a standard limit type or fully qualified")];
}

function amountErrors(limit: JsonObject, type: string, at: string): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  const nameErrors = (member: string) => {
    for (const name of Object.keys(objectIn(limit, member))) {
      errors.push(...limitedNameErrors(type, name, `${at}.${member}[${name}]`));
      names.add(name);
    }
  };
  for (const member of ["max", "min"]) nameErrors(member);
  for (const member of ["default", "defaultRequest"])
    if (type !== "Pod") nameErrors(member);
    else if (Object.keys(objectIn(limit, member)).length > 0)
      errors.push(
        fieldError.forbidden(`${at}.${member}`, "may not be specified when `type` is 'Pod'"),
      );
  const isBounded = ["min", "max"].some((one) => objectIn(limit, one)["storage"] !== undefined);
  if (type === "PersistentVolumeClaim" && !isBounded)
    errors.push(
      fieldError.required(
        `${at}.limits`,
        "either minimum or maximum storage value is required, but neither was provided",
      ),
    );
  nameErrors("maxLimitRequestRatio");
  for (const name of names) errors.push(...orderErrors(limit, type, name, at));
  return errors;
}

function limitedNameErrors(type: string, name: string, field: string): FieldError[] {
  const malformed = qualifiedNameErrors(name).map((text) => fieldError.invalid(field, name, text));
  if (name.includes("/")) return malformed;
  const isKnown =
    standardResources.has(name) || otherResources.has(name) || name.startsWith("hugepages-");
  return [
    ...malformed,
    ...(isKnown || malformed.length > 0
      ? []
      : [fieldError.invalid(field, name, "must be a standard resource type or fully qualified")]),
    ...((type === "Pod" || type === "Container") && !isOfContainers(name)
      ? [fieldError.invalid(field, name, "must be a standard resource for containers")]
      : []),
  ];
}

function orderErrors(limit: JsonObject, type: string, name: string, at: string): FieldError[] {
  const amount = (member: string): JsonValue | undefined =>
    type === "Pod" && member.startsWith("default") ? undefined : objectIn(limit, member)[name];
  const [min, max, limits] = [amount("min"), amount("max"), amount("default")];
  const [requests, ratio] = [amount("defaultRequest"), amount("maxLimitRequestRatio")];
  const errors: FieldError[] = [];
  const ordered = (
    low: JsonValue | undefined,
    high: JsonValue | undefined,
    [member, shown]: readonly [string, JsonValue | undefined],
    words: readonly [string, string],
  ) => {
    if (low === undefined || high === undefined || nanos(low) <= nanos(high)) return;
    const detail = `${words[0]} value ${low} is greater than ${words[1]} value ${high}`;
    errors.push(fieldError.invalid(`${at}.${member}[${name}]`, shown as JsonValue, detail));
  };
  ordered(min, max, ["min", min], ["min", "max"]);
  ordered(min, requests, ["defaultRequest", requests], ["min", "default request"]);
  ordered(requests, max, ["defaultRequest", requests], ["default request", "max"]);
  ordered(requests, limits, ["defaultRequest", requests], ["default request", "default limit"]);
  ordered(min, limits, ["default", min], ["min", "default"]);
  ordered(limits, max, ["default", max], ["default", "max"]);
  if (ratio !== undefined)
    errors.push(...ratioErrors(ratio, min, max, `${at}.maxLimitRequestRatio[${name}]`));
  const differ =
    limits !== undefined && requests !== undefined && nanos(limits) !== nanos(requests);
  if (differ && !isOvercommitable(name))
    errors.push(
      fieldError.invalid(
        `${at}.defaultRequest[${name}]`,
        requests,
        `default value ${limits} must equal to defaultRequest value ${requests} in ${name}`,
      ),
    );
  return errors;
}

function ratioErrors(
  ratio: JsonValue,
  min: JsonValue | undefined,
  max: JsonValue | undefined,
  field: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (nanos(ratio) < one)
    errors.push(fieldError.invalid(field, ratio, `ratio ${ratio} is less than 1`));
  if (min === undefined || max === undefined) return errors;
  const most = Number(nanos(max)) / Number(nanos(min));
  if (Number(nanos(ratio)) / Number(one) > most)
    errors.push(
      fieldError.invalid(
        field,
        ratio,
        `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`,
      ),
    );
  return errors;
}

/** A negative amount counts as none. */
function nanos(amount: JsonValue): bigint {
  return quantityNanos(String(amount))?.nanos ?? 0n;
}
