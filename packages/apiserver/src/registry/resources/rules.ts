/** Rules that many kinds share, in the words of Kubernetes. Pure. */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  dnsLabelErrors,
  labelValueErrors,
  type NameErrors,
  qualifiedNameErrors,
} from "@kcp-ts/machinery/names";
import { isNegativeQuantity } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { objectIn, textIn } from "./standard.ts";

const negative = "must be greater than or equal to 0";
const portRange = "must be between 1 and 65535, inclusive";
export const portMax = 65_535;

/** The members that are numbers below 0. */
export function negativeErrors(
  object: JsonObject,
  members: readonly string[],
  field: string,
): FieldError[] {
  return members.flatMap((member) => {
    const count = Number(object[member] ?? 0);
    return count < 0 ? [fieldError.invalid(`${field}.${member}`, count, negative)] : [];
  });
}

/** A member with one of these values; an absent one is required. */
export function oneOf(
  object: JsonObject,
  member: string,
  values: readonly string[],
  field: string,
): FieldError[] {
  const value = textIn(object, member);
  const at = field === "" ? member : `${field}.${member}`;
  if (value === "") return [fieldError.required(at)];
  return values.includes(value) ? [] : [fieldError.notSupported(at, value, values)];
}

/** A member with one of these values, or none. */
export function oneOfIfSet(
  object: JsonObject,
  member: string,
  values: readonly string[],
  field: string,
): FieldError[] {
  return object[member] === undefined ? [] : oneOf(object, member, values, field);
}

export function nameErrorsAt(name: string, field: string, check: NameErrors): FieldError[] {
  return check(name).map((text) => fieldError.invalid(field, name, text));
}

export function labelNameErrorsAt(name: string, field: string): FieldError[] {
  return qualifiedNameErrors(name).map((text) => fieldError.invalid(field, name, text));
}

export function labelValueErrorsAt(value: string, field: string): FieldError[] {
  return labelValueErrors(value).map((text) => fieldError.invalid(field, value, text));
}

/** A member that names something: required, and a DNS label. */
export function requiredLabel(object: JsonObject, member: string, field: string): FieldError[] {
  const name = textIn(object, member);
  if (name === "") return [fieldError.required(`${field}.${member}`)];
  return nameErrorsAt(name, `${field}.${member}`, dnsLabelErrors);
}

export function required(object: JsonObject, member: string, field: string): FieldError[] {
  const at = field === "" ? member : `${field}.${member}`;
  return textIn(object, member) === "" ? [fieldError.required(at)] : [];
}

export function portNumberErrors(port: JsonValue, field: string): FieldError[] {
  const number = Number(port);
  return number >= 1 && number <= portMax ? [] : [fieldError.invalid(field, number, portRange)];
}

const portNameMax = 15;

/** The reasons why a port cannot have that name: an IANA service name. */
export function portNameErrors(name: string): string[] {
  const errors: string[] = [];
  if (name.length > portNameMax) errors.push(`must be no more than ${portNameMax} characters`);
  if (!/^[-a-z0-9]+$/.test(name))
    errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(name)) errors.push("must contain at least one letter (a-z)");
  if (name.includes("--")) errors.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-"))
    errors.push("must not begin or end with a hyphen");
  return errors;
}

export function portOrNameErrors(port: JsonValue | undefined, field: string): FieldError[] {
  if (typeof port !== "string") return portNumberErrors(port ?? 0, field);
  return portNameErrors(port).map((text) => fieldError.invalid(field, port, text));
}

const percentText =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** A number of at least 0, or a percentage. */
export function countOrPercentErrors(value: JsonValue | undefined, field: string): FieldError[] {
  if (typeof value === "string")
    return /^[0-9]+%$/.test(value) ? [] : [fieldError.invalid(field, value, percentText)];
  const count = Number(value ?? 0);
  return count < 0 ? [fieldError.invalid(field, count, negative)] : [];
}

/** The number, or the percents, without their unit. */
export function countOrPercent(value: JsonValue | undefined): number {
  return typeof value === "string" ? Number.parseInt(value, 10) || 0 : Number(value ?? 0);
}

export function over100PercentErrors(value: JsonValue | undefined, field: string): FieldError[] {
  const isOver =
    typeof value === "string" && /^[0-9]+%$/.test(value) && countOrPercent(value) > 100;
  return isOver ? [fieldError.invalid(field, value, "must not be greater than 100%")] : [];
}

export function immutableErrors(
  updated: JsonObject,
  old: JsonObject,
  member: string,
  outer = "spec",
): FieldError[] {
  const [now, before] = [objectIn(updated, outer)[member], objectIn(old, outer)[member]];
  if (jsonEqual(now ?? null, before ?? null)) return [];
  return [fieldError.invalid(`${outer}.${member}`, now ?? null, "field is immutable")];
}

export function negativeQuantityErrors(value: JsonValue, field: string): FieldError[] {
  return isNegativeQuantity(String(value)) ? [fieldError.invalid(field, value, negative)] : [];
}

/** A member that is a qualified name, if it is set. */
export function appProtocolErrors(port: JsonObject, field: string): FieldError[] {
  const { appProtocol } = port;
  return appProtocol === undefined
    ? []
    : labelNameErrorsAt(String(appProtocol), `${field}.appProtocol`);
}

export function positiveQuantityErrors(value: JsonValue, field: string): FieldError[] {
  const isPositive = value !== "0" && !isNegativeQuantity(String(value));
  return isPositive ? [] : [fieldError.invalid(field, value, "must be greater than zero")];
}

/** A member of the object itself that never changes. */
export function fixedMemberErrors(
  updated: JsonObject,
  old: JsonObject,
  member: string,
  field = member,
): FieldError[] {
  const [now, before] = [updated[member] ?? null, old[member] ?? null];
  return jsonEqual(now, before) ? [] : [fieldError.invalid(field, now, "field is immutable")];
}
