/**
 * The errors of strict field validation of a request body, unknown fields first; the same texts are
 * the warnings of lax validation.
 */
export function strictDecodingErrors(found: {
  readonly unknownFields: readonly string[];
  readonly duplicateFields: readonly string[];
}): string[] {
  return [
    ...found.unknownFields.map((path) => `unknown field "${path}"`),
    ...found.duplicateFields.map((path) => `duplicate field "${path}"`),
  ];
}
