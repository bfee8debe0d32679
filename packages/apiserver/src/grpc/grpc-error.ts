/**
 * The error of a gRPC call: the status code, and whether the server can have acted on the request.
 */

/** The codes of the gRPC specification. */
export const grpcCode = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

/**
 * - `not-sent`: the server has provably not acted on the request; any call may be retried.
 * - `unknown`: the request was in flight when the call failed.
 * - `answered`: the status is the server's own response.
 */
export type Delivery = "not-sent" | "unknown" | "answered";

export class GrpcError extends Error {
  override readonly name = "GrpcError";
  readonly code: number;
  readonly delivery: Delivery;

  constructor(code: number, message: string, delivery: Delivery, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.delivery = delivery;
  }
}

/** No endpoint can be reached, and the channel has waited for its grace period. */
export class OutageError extends GrpcError {
  constructor(message: string) {
    super(grpcCode.unavailable, message, "not-sent");
  }
}

/** Decodes the percent-encoding of `grpc-message`; a malformed one is returned unchanged. */
export function decodeGrpcMessage(value: string): string {
  const shown = value.slice(0, messageCharactersMax);
  try {
    return decodeURIComponent(shown);
  } catch {
    return shown;
  }
}

/** A peer's error text is truncated to this length in messages. */
export const messageCharactersMax = 1024;

/** The code for an HTTP status of a peer that does not speak gRPC. */
export function codeOfHttpStatus(status: number): number {
  switch (status) {
    case 401:
      return grpcCode.unauthenticated;
    case 403:
      return grpcCode.permissionDenied;
    case 404:
      return grpcCode.unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return grpcCode.unavailable;
    default:
      return grpcCode.unknown;
  }
}
