/** Names of field managers: their sources and their validation. */
import { fieldManagerBytesMax, fieldManagerErrors, isPrintable } from "../meta/index.ts";
import { type FieldError, fieldError, type StatusError, statusError } from "../status/index.ts";

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
    bytes += new TextEncoder().encode(char).length;
    if (bytes > fieldManagerBytesMax) break;
    name += char;
  }
  return name;
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
  errors.push(...fieldManagerErrors(fieldManager, "fieldManager"));
  if (errors.length === 0) return undefined;
  return statusError.invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", errors);
}
