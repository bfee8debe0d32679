/** The rules of claims of devices, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { annotationErrors, labelErrors } from "@kcp-ts/machinery/meta";
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { nameErrorsAt } from "./rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "./standard.ts";

const requestsMax = 32;
const alternativesMax = 8;
const selectorsMax = 32;
const expressionCharactersMax = 10_240;
const modes = ["All", "ExactCount"];

export function deviceClaimErrors(devices: JsonObject, field: string): FieldError[] {
  return namedErrors(devices["requests"], `${field}.requests`, requestsMax, requestErrors);
}

/** Items of a set that is known by names. */
function namedErrors(
  items: JsonValue | undefined,
  field: string,
  itemsMax: number,
  check: (item: JsonObject, field: string) => FieldError[],
): FieldError[] {
  const count = listIn(items).length;
  if (count > itemsMax) return [fieldError.tooMany(field, count, itemsMax)];
  const names = new Set<string>();
  return itemErrors<JsonObject>(items, field, (item, at) => {
    const name = textIn(item, "name");
    const errors = [...nameErrorsAt(name, `${at}.name`, dnsLabelErrors), ...check(item, at)];
    if (names.has(name)) errors.push(fieldError.duplicate(at, name));
    names.add(name);
    return errors;
  });
}

function requestErrors(request: JsonObject, field: string): FieldError[] {
  const { exactly } = request;
  const alternatives = request["firstAvailable"];
  const hasAlternatives = listIn(alternatives).length > 0;
  const detail = "exactly one of `exactly` or `firstAvailable` is required";
  if (!isJsonObject(exactly))
    return hasAlternatives
      ? namedErrors(alternatives, `${field}.firstAvailable`, alternativesMax, deviceErrors)
      : [fieldError.required(field, detail)];
  return hasAlternatives
    ? [fieldError.invalid(field, null, `${detail}, but multiple fields are set`)]
    : deviceErrors(exactly, `${field}.exactly`);
}

function deviceErrors(request: JsonObject, field: string): FieldError[] {
  const name = textIn(request, "deviceClassName");
  return [
    ...(name === ""
      ? [fieldError.required(`${field}.deviceClassName`)]
      : nameErrorsAt(name, `${field}.deviceClassName`, dnsSubdomainErrors)),
    ...selectorErrors(request["selectors"], `${field}.selectors`),
    ...countErrors(request, field),
  ];
}

function countErrors(request: JsonObject, field: string): FieldError[] {
  const [mode, count] = [textIn(request, "allocationMode"), Number(request["count"] ?? 0)];
  const error = (detail: string) => [fieldError.invalid(`${field}.count`, count, detail)];
  if (mode === "All")
    return count === 0 ? [] : error("must not be specified when allocationMode is 'All'");
  if (mode === "ExactCount") return count > 0 ? [] : error("must be greater than zero");
  return [fieldError.notSupported(`${field}.allocationMode`, mode, modes)];
}

/** Expressions are compiled by the clusters, which know the devices. */
function selectorErrors(selectors: JsonValue | undefined, field: string): FieldError[] {
  const count = listIn(selectors).length;
  if (count > selectorsMax) return [fieldError.tooMany(field, count, selectorsMax)];
  return itemErrors<JsonObject>(selectors, field, (selector, at) => {
    if (!isJsonObject(selector["cel"])) return [fieldError.required(`${at}.cel`)];
    return textIn(selector["cel"], "expression").length > expressionCharactersMax
      ? [fieldError.tooLong(`${at}.cel.expression`, expressionCharactersMax)]
      : [];
  });
}

export function deviceClassErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const { extendedResourceName: name } = spec;
  const field = "spec.extendedResourceName";
  return [
    ...selectorErrors(spec["selectors"], "spec.selectors"),
    ...(name === undefined || isExtendedResource(String(name))
      ? []
      : [fieldError.invalid(field, name, "must be a valid extended resource name")]),
  ];
}

function isExtendedResource(name: string): boolean {
  return (
    name.includes("/") &&
    !name.includes("kubernetes.io/") &&
    !name.startsWith("requests.") &&
    qualifiedNameErrors(`requests.${name}`).length === 0
  );
}

export function templateMetadataErrors(metadata: JsonObject, field: string): FieldError[] {
  const map = (member: string) => objectIn(metadata, member) as Record<string, string>;
  return [
    ...annotationErrors(map("annotations"), `${field}.annotations`),
    ...labelErrors(map("labels"), `${field}.labels`),
  ];
}
