/**
 * StatusError: the error type of the API. It is a Kubernetes Status that can be thrown.
 *
 * Clients use `reason` first and the texts second; both are created by the constructors below and
 * nowhere else.
 */
import { type FieldError, formatFieldError } from "./field-error.ts";
import { quote } from "./quote.ts";
import { errorsMax, errorsTextMax, messageMax, shownText } from "./shown-text.ts";

export type StatusReason =
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "ServerTimeout"
  | "Timeout"
  | "TooManyRequests"
  | "BadRequest"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "InternalError"
  | "Expired"
  | "ServiceUnavailable";

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** A resource or kind with its group, as in `deployments.apps`. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

export class StatusError extends Error {
  /** A build may shorten the name of the class, which uncaught errors are printed with. */
  static override readonly name: string = "StatusError";
  override readonly name = "StatusError";
  readonly status: Status;

  constructor(
    status: Omit<Status, "kind" | "apiVersion" | "metadata" | "status"> & {
      metadata?: Status["metadata"];
    },
    cause?: unknown,
  ) {
    const message =
      status.message === undefined ? undefined : shownText(status.message, messageMax);
    super(message, cause === undefined ? undefined : { cause });
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      ...status,
      ...(message === undefined ? {} : { message }),
    };
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): string | undefined {
    return this.status.reason;
  }
}

export function isStatusError(error: unknown, reason?: StatusReason): error is StatusError {
  return (
    error instanceof Error &&
    error.name === "StatusError" &&
    (reason === undefined || (error as StatusError).reason === reason)
  );
}

export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** A kind may be the one that a client sent. */
export function formatGroupKind({ group, kind }: GroupKind): string {
  return group === "" ? shownText(kind) : `${shownText(kind)}.${group}`;
}

/** `a`, or `[a, b]` for several, without repeats: Go's aggregate form. */
export function aggregate(messages: readonly string[]): string {
  const unique = [...new Set(messages)];
  return unique.length === 1 ? (unique[0] as string) : `[${unique.join(", ")}]`;
}

export const statusError = {
  notFound: (resource: GroupResource, name: string): StatusError =>
    new StatusError({
      code: 404,
      reason: "NotFound",
      message: `${formatGroupResource(resource)} ${quote(name)} not found`,
      details: named(resource, name),
    }),

  /** client-go's text for a path without a resource. */
  pathNotFound: (): StatusError =>
    new StatusError({
      code: 404,
      reason: "NotFound",
      message: "the server could not find the requested resource",
      details: {},
    }),

  alreadyExists: (resource: GroupResource, name: string): StatusError =>
    new StatusError({
      code: 409,
      reason: "AlreadyExists",
      message: `${formatGroupResource(resource)} ${quote(name)} already exists`,
      details: named(resource, name),
    }),

  /** A create whose name is still used by a terminating object. */
  terminating: (resource: GroupResource, name: string): StatusError =>
    new StatusError({
      code: 409,
      reason: "AlreadyExists",
      message: `object is being deleted: ${formatGroupResource(resource)} ${quote(name)} already exists`,
      details: named(resource, name),
    }),

  generateNameConflict: (resource: GroupResource, name: string): StatusError =>
    new StatusError({
      code: 409,
      reason: "AlreadyExists",
      message: `${formatGroupResource(resource)} ${quote(name)} already exists, the server was not able to generate a unique name for the object`,
      details: { ...named(resource, name), retryAfterSeconds: 1 },
    }),

  conflict: (resource: GroupResource, name: string, reason: string): StatusError =>
    new StatusError({
      code: 409,
      reason: "Conflict",
      message: `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${quote(name)}: ${reason}`,
      details: named(resource, name),
    }),

  modified: (resource: GroupResource, name: string): StatusError =>
    statusError.conflict(
      resource,
      name,
      "the object has been modified; please apply your changes to the latest version and try again",
    ),

  invalid: (kind: GroupKind, name: string, errors: readonly FieldError[]): StatusError => {
    const reported = reportedErrors(errors);
    return new StatusError({
      code: 422,
      reason: "Invalid",
      message: `${formatGroupKind(kind)} ${quote(name)} is invalid: ${aggregate(reported.map(formatFieldError))}`,
      details: {
        ...(name === "" ? {} : { name: shownText(name) }),
        ...(kind.group === "" ? {} : { group: kind.group }),
        ...(kind.kind === "" ? {} : { kind: shownText(kind.kind) }),
        causes: reported.map(({ type, field, body }) => ({ reason: type, message: body, field })),
      },
    });
  },

  badRequest: (message: string): StatusError =>
    new StatusError({ code: 400, reason: "BadRequest", message }),

  unauthorized: (): StatusError =>
    new StatusError({ code: 401, reason: "Unauthorized", message: "Unauthorized" }),

  /** `message` is the text after `is forbidden: `. */
  forbidden: (resource: GroupResource, name: string, message: string): StatusError =>
    new StatusError({
      code: 403,
      reason: "Forbidden",
      message:
        name === ""
          ? `${formatGroupResource(resource)} is forbidden: ${message}`
          : `${formatGroupResource(resource)} ${quote(name)} is forbidden: ${message}`,
      details: named(resource, name),
    }),

  forbiddenPath: (message: string): StatusError =>
    new StatusError({
      code: 403,
      reason: "Forbidden",
      message: `forbidden: ${message}`,
      details: {},
    }),

  /** For a path that exists, but not with this method. */
  methodNotAllowedHere: (): StatusError =>
    new StatusError({
      code: 405,
      reason: "MethodNotAllowed",
      message: "the server does not allow this method on the requested resource",
      details: {},
    }),

  methodNotAllowed: (resource: GroupResource, action: string): StatusError =>
    new StatusError({
      code: 405,
      reason: "MethodNotAllowed",
      message: `${action} is not supported on resources of kind ${quote(formatGroupResource(resource))}`,
      details: {
        ...(resource.group === "" ? {} : { group: resource.group }),
        kind: resource.resource,
      },
    }),

  /** Requests across all logical clusters can list and watch, nothing else. */
  notInWildcard: (resource: GroupResource, action: string): StatusError =>
    new StatusError({
      code: 405,
      reason: "MethodNotAllowed",
      message: `${action} is not supported on resources of kind ${quote(formatGroupResource(resource))} in the \`*\` logical cluster`,
      details: named(resource, ""),
    }),

  expired: (message: string, continueToken?: string): StatusError =>
    new StatusError({
      code: 410,
      reason: "Expired",
      message,
      ...(continueToken === undefined ? {} : { metadata: { continue: continueToken } }),
    }),

  tooLarge: (message: string): StatusError =>
    new StatusError({
      code: 413,
      reason: "RequestEntityTooLarge",
      message: `Request entity too large: ${message}`,
    }),

  unsupportedMediaType: (accepted: readonly string[]): StatusError =>
    new StatusError({
      code: 415,
      reason: "UnsupportedMediaType",
      message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
    }),

  notAcceptableForm: (message: string): StatusError =>
    new StatusError({ code: 406, reason: "NotAcceptable", message }),

  notAcceptable: (accepted: readonly string[]): StatusError =>
    new StatusError({
      code: 406,
      reason: "NotAcceptable",
      message: `only the following media types are accepted: ${accepted.join(", ")}`,
    }),

  internal: (message: string, cause?: unknown): StatusError =>
    new StatusError(
      {
        code: 500,
        reason: "InternalError",
        message: `Internal error occurred: ${message}`,
        details: { causes: [{ message }] },
      },
      cause,
    ),

  timeout: (message: string): StatusError =>
    new StatusError({ code: 504, reason: "Timeout", message: `Timeout: ${message}` }),

  resourceVersionTooLarge: (asked: number, current: number): StatusError =>
    new StatusError({
      code: 504,
      reason: "Timeout",
      message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
      details: {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    }),

  unavailable: (message: string): StatusError =>
    new StatusError({ code: 503, reason: "ServiceUnavailable", message }),

  tooManyRequests: (retryAfterSeconds: number): StatusError =>
    new StatusError({
      code: 429,
      reason: "TooManyRequests",
      message: "Too many requests, please try again later.",
      details: { retryAfterSeconds },
    }),
} as const;

/** The first errors, as many as a Status has room for. */
export function reportedErrors(errors: readonly FieldError[]): FieldError[] {
  let text = 0;
  return errors.slice(0, errorsMax).filter(({ field, body }, i) => {
    text += field.length + body.length;
    return i === 0 || text <= errorsTextMax;
  });
}

function named({ group, resource }: GroupResource, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name: shownText(name) }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  };
}
