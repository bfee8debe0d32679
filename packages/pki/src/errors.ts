/**
 * What can be wrong with certificate files. Messages are for the operator: which file, what is
 * wrong, what to do.
 *
 * - `unreadable`: the file is there but cannot be read.
 * - `missing`: the other half of the pair is there, this file is not.
 * - `corrupt`: the file is not what its name says.
 * - `mismatched`: certificate and key do not belong together.
 * - `expired`: the certificate's time is over and we cannot renew it.
 */
export type CertificateFileErrorCode =
  | "unreadable"
  | "missing"
  | "corrupt"
  | "mismatched"
  | "expired";

export class CertificateFileError extends Error {
  override readonly name = "CertificateFileError";
  readonly code: CertificateFileErrorCode;
  readonly path: string;

  constructor(
    code: CertificateFileErrorCode,
    details: { readonly path: string; readonly message: string; readonly cause?: unknown },
  ) {
    super(
      `${details.path}: ${details.message}`,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.code = code;
    this.path = details.path;
  }
}

export function isCertificateFileError(
  error: unknown,
  code?: CertificateFileErrorCode,
): error is CertificateFileError {
  return (
    error instanceof Error &&
    error.name === "CertificateFileError" &&
    (code === undefined || (error as CertificateFileError).code === code)
  );
}
