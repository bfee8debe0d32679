/**
 * The errors of patches, by their HTTP status.
 *
 * The message keeps the texts of the upstream libraries for logs; `patchStatusError` creates the
 * client's message.
 */
import { unreachable } from "../base/index.ts";
import { StatusError, statusError } from "../status/index.ts";

export type PatchErrorCode =
  /** The patch is malformed: 400. */
  | "malformed"
  /** The patch has more operations than `jsonPatchOperationsMax`: 413. */
  | "too-many-operations"
  /** The patch is well formed and cannot be applied to this object: 422. */
  | "not-applicable"
  /**
   * The patch and the object cannot be merged by the rules of the object's schema; the message has
   * the reason: 422.
   */
  | "unmergeable";

export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly code: PatchErrorCode;

  constructor(code: PatchErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function isPatchError(error: unknown, code?: PatchErrorCode): error is PatchError {
  return (
    error instanceof Error &&
    error.name === "PatchError" &&
    (code === undefined || (error as PatchError).code === code)
  );
}

/**
 * The Status of Kubernetes for a failed patch. A patch that does not apply gets a fixed text, its
 * reason stays in `cause`.
 */
export function patchStatusError(error: PatchError): StatusError {
  switch (error.code) {
    case "malformed":
      return statusError.badRequest(error.message);
    case "too-many-operations":
      return statusError.tooLarge(error.message);
    case "not-applicable":
      return new StatusError(
        {
          code: 422,
          reason: "Invalid",
          message: "the server rejected our request due to an error in our request",
          details: {},
        },
        error,
      );
    case "unmergeable":
      return new StatusError({ code: 422, reason: "Invalid", message: error.message, details: {} });
    default:
      return unreachable(error.code);
  }
}
