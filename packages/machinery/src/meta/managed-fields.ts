/** Validates the outer form of managedFields; server-side apply reads the content of fieldsV1. */
import { utf8Length } from "../names/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { collectErrors } from "./collect-errors.ts";
import type { ManagedFieldsEntry } from "./types.ts";

export const fieldManagerBytesMax = 128;
const subresourceBytesMax = 256;

export function managedFieldsErrors(
  entries: readonly ManagedFieldsEntry[],
  field: string,
): FieldError[] {
  return collectErrors(entries, (entry, i) => entryErrors(entry, `${field}[${i}]`));
}

/**
 * Validates the name of a field manager, from a query or from an entry. "" is no error: it means
 * "not given".
 */
export function fieldManagerErrors(manager: string, field: string): FieldError[] {
  // Each error below repeats the name, so a long name is not checked any further.
  if (utf8Length(manager) > fieldManagerBytesMax)
    return [fieldError.tooLong(field, fieldManagerBytesMax)];
  const errors: FieldError[] = [];
  let position = 0;
  for (const char of manager) {
    if (!isPrintable(char)) {
      const detail = `invalid character ${unicodeName(char)} (at position ${position})`;
      errors.push(fieldError.invalid(field, manager, detail));
    }
    position += utf8Length(char);
  }
  return errors;
}

function entryErrors(entry: ManagedFieldsEntry, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const { operation = "", fieldsType = "", manager = "", subresource = "" } = entry;
  if (operation !== "Apply" && operation !== "Update")
    errors.push(fieldError.invalid(`${field}.operation`, operation, "must be `Apply` or `Update`"));
  if (fieldsType !== "" && fieldsType !== "FieldsV1")
    errors.push(fieldError.invalid(`${field}.fieldsType`, fieldsType, "must be `FieldsV1`"));
  errors.push(...fieldManagerErrors(manager, `${field}.manager`));
  if (utf8Length(subresource) > subresourceBytesMax)
    errors.push(fieldError.tooLong(`${field}.subresource`, subresourceBytesMax));
  return errors;
}

/** Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols, and the ASCII space. */
export function isPrintable(char: string): boolean {
  return char === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}

/** Go's %#U of a character that is not printable. */
function unicodeName(char: string): string {
  return `U+${(char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}`;
}
