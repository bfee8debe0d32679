/** Labels are small and indexed, annotations are notes of any content up to a total size. */
import { labelValueErrors, qualifiedNameErrors, utf8Length } from "../names/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { collectErrors } from "./collect-errors.ts";
import type { StringMap } from "./types.ts";

/** All keys and values of one object together, as UTF-8. */
export const annotationsBytesMax = 256 * 1024;

export function labelErrors(labels: StringMap, field: string): FieldError[] {
  return collectErrors(Object.keys(labels), (key) => {
    const value = labels[key] as string;
    const [ofKey, ofValue] = [qualifiedNameErrors(key), labelValueErrors(value)];
    if (ofKey.length === 0 && ofValue.length === 0) return [];
    return [
      ...ofKey.map((message) => fieldError.invalid(field, key, message)),
      ...ofValue.map((message) => fieldError.invalid(field, value, message)),
    ];
  });
}

export function annotationErrors(annotations: StringMap, field: string): FieldError[] {
  const entries = Object.entries(annotations);
  const errors = collectErrors(entries, ([key]) =>
    qualifiedNameErrors(key.toLowerCase()).map((message) =>
      fieldError.invalid(field, key, message),
    ),
  );
  const bytes = entries.reduce((sum, [key, value]) => sum + utf8Length(key) + utf8Length(value), 0);
  if (bytes > annotationsBytesMax) errors.push(fieldError.tooLong(field, annotationsBytesMax));
  return errors;
}
