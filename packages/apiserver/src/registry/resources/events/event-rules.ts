/**
 * Validates Events in the storage version: also those of events.k8s.io, whose errors name the core
 * fields upstream as well.
 */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { qualifiedNameErrors, utf8Length } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { objectIn, textIn } from "../standard.ts";

/** In bytes. */
export const eventLengthMax = {
  reportingInstance: 128,
  action: 128,
  reason: 128,
  message: 1024,
} as const;

/** The field name of the reporting controller in the request's API. */
export type ReportingField = "reportingComponent" | "reportingController";

/**
 * Rules of both APIs. An Event with an eventTime is of the new kind and has more required fields.
 */
export function eventErrors(event: JsonObject, reportingField: ReportingField): FieldError[] {
  const { namespace } = event["metadata"] as { namespace: string };
  const involved = textIn(objectIn(event, "involvedObject"), "namespace");
  const wrongNamespace = fieldError.invalid(
    "involvedObject.namespace",
    involved,
    "does not match event.namespace",
  );
  if (event["eventTime"] === undefined) {
    const matches = involved === "" ? namespace === "default" : involved === namespace;
    return matches ? [] : [wrongNamespace];
  }
  const errors: FieldError[] = [];
  if (involved === "" && namespace !== "default" && namespace !== "kube-system")
    errors.push(wrongNamespace);
  const controller = textIn(event, "reportingComponent");
  if (controller === "") errors.push(fieldError.required(reportingField));
  for (const message of qualifiedNameErrors(controller))
    errors.push(fieldError.invalid(reportingField, controller, message));
  for (const field of ["reportingInstance", "action", "reason"] as const) {
    if (textIn(event, field) === "") errors.push(fieldError.required(field));
    errors.push(...lengthErrors(event, field));
  }
  return [...errors, ...lengthErrors(event, "message")];
}

/** Additional rules of events.k8s.io/v1: the new fields are set, the deprecated ones are not. */
export function strictEventErrors(event: JsonObject): FieldError[] {
  const errors = seriesErrors(event);
  if (event["eventTime"] === undefined) errors.push(fieldError.required("eventTime"));
  const type = textIn(event, "type");
  if (type !== "Normal" && type !== "Warning")
    errors.push(fieldError.invalid("type", "", `has invalid value: ${type}`));
  const source = event["source"];
  const set = {
    firstTimestamp: event["firstTimestamp"] !== undefined,
    lastTimestamp: event["lastTimestamp"] !== undefined,
    count: (event["count"] ?? 0) !== 0,
    source:
      isJsonObject(source) && (textIn(source, "component") !== "" || textIn(source, "host") !== ""),
  };
  for (const [field, isSet] of Object.entries(set))
    if (isSet) errors.push(fieldError.invalid(field, "", "needs to be unset"));
  return errors;
}

const immutable = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
] as const;

/** Through events.k8s.io/v1, only the series may change. */
export function strictEventUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const errors = isSame(updated["series"], old["series"]) ? [] : seriesErrors(updated);
  for (const field of immutable) {
    if (isSame(updated[field], old[field])) continue;
    const name = field === "reportingComponent" ? "reportingController" : field;
    errors.push(fieldError.invalid(name, updated[field] ?? "", "field is immutable"));
  }
  return errors;
}

function seriesErrors({ series }: JsonObject): FieldError[] {
  if (!isJsonObject(series)) return [];
  const errors: FieldError[] = [];
  if (Number(series["count"] ?? 0) < 2)
    errors.push(fieldError.invalid("series.count", "", "should be at least 2"));
  if (series["lastObservedTime"] === undefined)
    errors.push(fieldError.required("series.lastObservedTime"));
  return errors;
}

function lengthErrors(event: JsonObject, field: keyof typeof eventLengthMax): FieldError[] {
  const lengthMax = eventLengthMax[field];
  return utf8Length(textIn(event, field)) > lengthMax
    ? [fieldError.invalid(field, "", `can have at most ${lengthMax} characters`)]
    : [];
}

/** Go's zero values equal absence. */
function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  const isZero = (value: JsonValue | undefined) =>
    value === undefined ||
    value === "" ||
    value === 0 ||
    (isJsonObject(value) && Object.keys(value).length === 0);
  if (isZero(a) || isZero(b)) return isZero(a) && isZero(b);
  return jsonEqual(a as JsonValue, b as JsonValue);
}
