/**
 * Field errors: an error of one field of an object, with Kubernetes' texts.
 *
 * Clients and controllers match these texts, so they are built here and nowhere else.
 */
import { type JsonValue, stringifyJson } from "../json/index.ts";
import { quote } from "./quote.ts";
import { shownText } from "./shown-text.ts";

export type FieldErrorType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooShort"
  | "FieldValueTooMany"
  | "FieldValueTooFew"
  | "FieldValueTypeInvalid"
  | "InternalError";

export interface FieldError {
  readonly type: FieldErrorType;
  /** For example `spec.foo[0].bar` or `metadata.annotations[key]`. */
  readonly field: string;
  /** The message without the field: `Invalid value: "x": must be …`. */
  readonly body: string;
}

export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${error.body}`;
}

export const fieldError = {
  notFound: (field: string, value: JsonValue, detail = ""): FieldError => ({
    type: "FieldValueNotFound",
    field: shownText(field),
    body: withDetail(`Not found: ${formatValue(value)}`, detail),
  }),
  required: (field: string, detail = ""): FieldError => ({
    type: "FieldValueRequired",
    field: shownText(field),
    body: withDetail("Required value", detail),
  }),
  duplicate: (field: string, value: JsonValue): FieldError => ({
    type: "FieldValueDuplicate",
    field: shownText(field),
    body: `Duplicate value: ${formatValue(value)}`,
  }),
  invalid: (field: string, value: JsonValue, detail: string): FieldError => ({
    type: "FieldValueInvalid",
    field: shownText(field),
    body: withDetail(`Invalid value: ${formatValue(value)}`, detail),
  }),
  invalidWithoutValue: (field: string, detail: string): FieldError => ({
    type: "FieldValueInvalid",
    field: shownText(field),
    body: withDetail("Invalid value", detail),
  }),
  typeInvalid: (field: string, value: JsonValue, detail: string): FieldError => ({
    type: "FieldValueTypeInvalid",
    field: shownText(field),
    body: withDetail(`Invalid value: ${formatValue(value)}`, detail),
  }),
  notSupported: (field: string, value: JsonValue, supported: readonly string[]): FieldError => ({
    type: "FieldValueNotSupported",
    field: shownText(field),
    body:
      supported.length === 0
        ? `Unsupported value: ${formatValue(value)}`
        : `Unsupported value: ${formatValue(value)}: supported values: ${supported.map(quote).join(", ")}`,
  }),
  forbidden: (field: string, detail: string): FieldError => ({
    type: "FieldValueForbidden",
    field: shownText(field),
    body: withDetail("Forbidden", detail),
  }),
  tooLong: (field: string, bytesMax: number): FieldError => ({
    type: "FieldValueTooLong",
    field: shownText(field),
    body: `Too long: may not be more than ${bytesMax} bytes`,
  }),
  tooMany: (field: string, actual: number, itemsMax: number): FieldError => ({
    type: "FieldValueTooMany",
    field: shownText(field),
    body: `Too many: ${actual}: must have at most ${itemsMax} items`,
  }),
  internal: (field: string, detail: string): FieldError => ({
    type: "InternalError",
    field: shownText(field),
    body: withDetail("Internal error", detail),
  }),
} as const;

/** Strings as Go's %q prints them, everything else as compact JSON; truncated. */
function formatValue(value: JsonValue): string {
  return typeof value === "string" ? quote(value) : shownText(stringifyJson(value));
}

function withDetail(body: string, detail: string): string {
  return detail === "" ? body : `${body}: ${detail}`;
}
