/**
 * Validates the parts of a CRD version besides its schema: deprecation, subresources, printer
 * columns, selectable fields.
 */
import { type FieldError, fieldError } from "../status/index.ts";
import type { CrdSubresources, PrinterColumn } from "./crd.ts";
import { utf8Length } from "./format-net.ts";
import { jsonPathLengthMax } from "./limits.ts";
import { resolveSchemaPath } from "./schema-path.ts";
import type { SchemaProps } from "./schema-props.ts";
import { dottedPath } from "./value-path.ts";

const deprecationWarningBytesMax = 256;

export function validateDeprecation(
  deprecated: boolean,
  warning: string | undefined,
  path: string,
): FieldError[] {
  if (warning === undefined) return [];
  const complaints: string[] = [];
  if (!deprecated) complaints.push("can only be set for deprecated versions");
  else {
    if (utf8Length(warning) > deprecationWarningBytesMax)
      complaints.push("must be <= 256 characters long");
    if (warning === "") complaints.push("must not be an empty string");
    const index = unprintableIndex(warning);
    if (index >= 0)
      complaints.push(
        `must only contain printable UTF-8 characters; non-printable character found at index ${index}`,
      );
  }
  return complaints.map((text) => fieldError.invalid(`${path}.deprecationWarning`, warning, text));
}

/**
 * In bytes; -1 when all characters are printable in Go's sense: letters, marks, numbers,
 * punctuation, symbols and the space.
 */
function unprintableIndex(text: string): number {
  let index = 0;
  for (const char of text) {
    if (char !== " " && !/^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char)) return index;
    index += utf8Length(char);
    if (index > deprecationWarningBytesMax * 4) break;
  }
  return -1;
}

export function validateSubresources(
  subresources: CrdSubresources | undefined,
  path: string,
): FieldError[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const errors: FieldError[] = [];
  const under = (text: string, field: string, prefixes: readonly string[], where: string): void => {
    const at = `${path}.scale.${field}`;
    const problems = simplePathErrors(text, at);
    if (problems.length > 0) errors.push(...problems);
    else if (!prefixes.some((prefix) => text.startsWith(prefix)))
      errors.push(fieldError.invalid(at, text, `should be a json path under ${where}`));
  };
  for (const [field, prefix] of [
    ["specReplicasPath", ".spec"],
    ["statusReplicasPath", ".status"],
  ] as const) {
    if (scale[field] === "") errors.push(fieldError.required(`${path}.scale.${field}`));
    else under(scale[field], field, [`${prefix}.`], prefix);
  }
  const selector = scale.labelSelectorPath;
  if (selector !== undefined && selector !== "")
    under(selector, "labelSelectorPath", [".spec.", ".status."], "either .spec or .status");
  return errors;
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = [
  "byte",
  "date",
  "date-time",
  "double",
  "float",
  "int32",
  "int64",
  "password",
];

export function validatePrinterColumn(column: PrinterColumn, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (column.name === "") errors.push(fieldError.required(`${path}.name`));
  const types = `must be one of ${columnTypes.join(",")}`;
  if (column.type === "") errors.push(fieldError.required(`${path}.type`, types));
  else if (!columnTypes.includes(column.type))
    errors.push(fieldError.invalid(`${path}.type`, column.type, types));
  if (column.format !== "" && !columnFormats.includes(column.format)) {
    const detail = `must be one of ${columnFormats.join(",")}`;
    errors.push(fieldError.invalid(`${path}.format`, column.format, detail));
  }
  if (column.jsonPath === "") errors.push(fieldError.required(`${path}.JSONPath`));
  else errors.push(...simplePathErrors(column.jsonPath, `${path}.JSONPath`));
  if (column.jsonPath.length > jsonPathLengthMax)
    errors.push(fieldError.tooLong(`${path}.JSONPath`, jsonPathLengthMax));
  return errors;
}

function simplePathErrors(text: string, path: string): FieldError[] {
  return text.startsWith(".")
    ? []
    : [fieldError.invalid(path, text, "must be a simple json path starting with .")];
}

export const selectableFieldsMax = 8;

export function validateSelectableFields(
  fields: readonly string[],
  schema: SchemaProps,
  path: string,
  options: { readonly allowTooMany: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, text] of fields.entries()) {
    const at = `${path}[${i}].jsonPath`;
    if (text === "") {
      errors.push(fieldError.required(at));
      continue;
    }
    const resolved = resolveSchemaPath(text, schema, { allowBrackets: false });
    if ("error" in resolved) {
      errors.push(fieldError.invalid(at, text, `is an invalid path: ${resolved.error}`));
      continue;
    }
    if (resolved.path[0] === "metadata")
      errors.push(fieldError.invalid(at, text, "must not point to fields in metadata"));
    if (!["string", "boolean", "integer"].includes(resolved.schema?.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.push(fieldError.invalid(at, text, detail));
    }
    const name = dottedPath(resolved.path);
    if (seen.has(name)) errors.push(fieldError.duplicate(at, text));
    seen.add(name);
  }
  if (seen.size > selectableFieldsMax && !options.allowTooMany)
    errors.push(fieldError.tooMany(path, seen.size, selectableFieldsMax));
  return errors;
}
