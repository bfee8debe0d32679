/** Names of field managers: their sources and their validation. */
import { isJsonObject, type JsonValue } from "../json/index.ts";
import { type FieldError, fieldError, type StatusError, statusError } from "../status/index.ts";

export const fieldManagerBytesMax = 128;
const subresourceBytesMax = 256;

/**
 * The manager of a write: the `fieldManager` parameter, or the part of the User-Agent before the
 * first slash.
 */
export function fieldManagerOf(parameter: string | undefined, userAgent = ""): string {
  if (parameter !== undefined && parameter !== "") return parameter;
  let name = "";
  let bytes = 0;
  for (const char of userAgent.split("/", 1)[0] ?? "") {
    if (!isPrintable(char)) continue;
    bytes += bytesOf(char);
    if (bytes > fieldManagerBytesMax) break;
    name += char;
  }
  return name;
}

export function validateFieldManager(name: string, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (bytesOf(name) > fieldManagerBytesMax) {
    errors.push(fieldError.tooLong(field, fieldManagerBytesMax));
  }
  let position = 0;
  for (const char of name) {
    if (!isPrintable(char)) {
      const code = (char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
      errors.push(
        fieldError.invalid(field, name, `invalid character U+${code} (at position ${position})`),
      );
    }
    position += bytesOf(char);
  }
  return errors;
}

export interface PatchOptions {
  readonly fieldManager?: string | undefined;
  /** Undefined if the request does not set it. */
  readonly force?: boolean | undefined;
}

/** Validates the field management options of a PATCH. Undefined if they are valid. */
export function patchOptionsError(
  patch: "apply" | "other",
  { fieldManager = "", force }: PatchOptions,
): StatusError | undefined {
  const errors: FieldError[] = [];
  if (patch === "apply") {
    if (fieldManager === "") {
      errors.push(fieldError.required("fieldManager", "is required for apply patch"));
    }
  } else if (force !== undefined) {
    errors.push(fieldError.forbidden("force", "may not be specified for non-apply patch"));
  }
  errors.push(...validateFieldManager(fieldManager, "fieldManager"));
  if (errors.length === 0) return undefined;
  return statusError.invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", errors);
}

/** The validation error of managedFields that a client sent. */
export function validateManagedFields(
  entries: readonly JsonValue[],
  field = "metadata.managedFields",
): FieldError[] {
  return entries.flatMap((entry, i) => validateEntry(entry, `${field}[${i}]`));
}

function validateEntry(entry: JsonValue, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const {
    operation = "",
    fieldsType = "",
    manager = "",
    subresource = "",
  } = isJsonObject(entry) ? entry : {};
  if (operation === "") {
    errors.push(fieldError.required(`${field}.operation`, "must not be empty"));
  } else if (operation !== "Apply" && operation !== "Update") {
    errors.push(fieldError.notSupported(`${field}.operation`, operation, ["Apply", "Update"]));
  }
  if (fieldsType !== "" && fieldsType !== "FieldsV1") {
    errors.push(fieldError.invalid(`${field}.fieldsType`, fieldsType, "must be `FieldsV1`"));
  }
  if (typeof manager === "string")
    errors.push(...validateFieldManager(manager, `${field}.manager`));
  if (typeof subresource === "string" && bytesOf(subresource) > subresourceBytesMax) {
    errors.push(fieldError.tooLong(`${field}.subresource`, subresourceBytesMax));
  }
  return errors;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function isPrintable(char: string): boolean {
  return char === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}
