/**
 * The reason why an object is not in sync, in words for its owner: the cause, and the next step.
 *
 * A sync error concerns the object (its owner can fix it), the kind (no object of it works), or the
 * connection (wait). Only the first two are written on objects: an unreachable cluster must not
 * cause a write for every object that is assigned to it.
 */
import { isPatchError } from "@kcp-ts/machinery/patch";
import { isStatusError, type StatusError } from "@kcp-ts/machinery/status";
import { formatResource, type Resource } from "@kcp-ts/sdk";
import type { SyncErrorReason } from "./protocol.ts";

export type SyncErrorScope = "object" | "kind" | "connection";

export class SyncError extends Error {
  override readonly name = "SyncError";
  readonly reason: SyncErrorReason;
  readonly scope: SyncErrorScope;

  constructor(reason: SyncErrorReason, message: string, options: SyncErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.scope = options.scope ?? "object";
  }
}

interface SyncErrorOptions {
  readonly scope?: SyncErrorScope;
  readonly cause?: unknown;
}

export interface SyncErrorContext {
  readonly resource: Resource;
  readonly target: string;
}

/** The sync error for an error of the cluster. Undefined for conflicts, which are retried. */
export function syncErrorOf(error: unknown, context: SyncErrorContext): SyncError | undefined {
  if (error instanceof SyncError) return error;
  if (isPatchError(error)) {
    const message = `the spec difference for this SyncTarget cannot be applied: ${error.message}; correct the annotation`;
    return new SyncError("Invalid", message, { cause: error });
  }
  if (!isStatusError(error)) return unreachable(error, context);
  const { code } = error;
  if (code === 409) return undefined;
  const refused = refusedByAdmission(error);
  if (refused !== undefined) return refused;
  if (code === 422 || code === 400) return invalid(error);
  if (code === 403) return forbidden(error, context);
  if (code === 404) return missing(error, context);
  if (code === 413 || /request is too large|limit is \d+/i.test(error.message)) {
    const message = `the cluster does not take an object of this size (${short(error)}); make it smaller, or split it`;
    return new SyncError("TooLarge", message, { cause: error });
  }
  if (code === 401) {
    const message = `the cluster no longer knows the syncer's credentials; renew the kubeconfig of SyncTarget ${context.target}`;
    return new SyncError("Unauthorized", message, { scope: "connection", cause: error });
  }
  if (code === 405) return kindMissing(error, context);
  return unreachable(error, context);
}

/** A 404 that names no object concerns the kind or the path. It says nothing about the object. */
export function isObjectNotFound(error: unknown, name: string): boolean {
  return isStatusError(error, "NotFound") && error.status.details?.name === name;
}

function invalid(error: StatusError): SyncError {
  if (
    /immutable|may not be changed|may not change|updates to .* are forbidden|Forbidden: updates/i.test(
      error.message,
    )
  ) {
    const message = `the cluster does not allow this change of an existing object (${short(error)}); undo the change, or delete and create the object`;
    return new SyncError("ImmutableField", message, { cause: error });
  }
  const message = `the cluster refuses the object (${short(error)}); correct it, or assign it to a SyncTarget that accepts it`;
  return new SyncError("Invalid", message, { cause: error });
}

/**
 * An admission webhook rejects with a code of its own choice; an unreachable webhook counts as a
 * rejection, because the object's owner waits in both cases.
 */
function refusedByAdmission(error: StatusError): SyncError | undefined {
  const cannotBeAsked = /failed calling webhook/.test(error.message);
  if (!cannotBeAsked && !/admission webhook .* denied|denied request/s.test(error.message))
    return undefined;
  const message = cannotBeAsked
    ? `the cluster cannot ask one of its admission webhooks (${short(error)}); ask who runs the cluster to mend or remove it`
    : refusedWords(error);
  return new SyncError("AdmissionRefused", message, { cause: error });
}

function refusedWords(error: StatusError): string {
  return `the cluster's admission refuses the object (${short(error)}); change it so that it is allowed, or ask who runs the cluster`;
}

const rbacPattern = /cannot (?<verb>[a-z]+) resource "(?<resource>[^"]+)"/;

function forbidden(error: StatusError, { target }: SyncErrorContext): SyncError {
  const groups = rbacPattern.exec(error.message)?.groups;
  if (groups !== undefined) {
    const { verb = "", resource = "" } = groups;
    const message = `the syncer may not ${verb} ${resource} in the cluster; grant the verb "${verb}" on "${resource}" to its user in SyncTarget ${target}`;
    return new SyncError("Forbidden", message, { scope: "kind", cause: error });
  }
  if (/: (exceeded|failed) quota: /.test(error.message)) {
    const message = `the quota of the cluster is used up (${short(error)}); raise it there, ask for less, or assign the object to another SyncTarget`;
    return new SyncError("QuotaExceeded", message, { cause: error });
  }
  if (/being terminated/i.test(error.message)) {
    const message =
      "its namespace in the cluster is being deleted; it is made again when that is over";
    return new SyncError("NamespaceTerminating", message, { cause: error });
  }
  return new SyncError("AdmissionRefused", refusedWords(error), { cause: error });
}

function missing(error: StatusError, context: SyncErrorContext): SyncError | undefined {
  // The object or its namespace was deleted concurrently: the next sync decides.
  if (error.status.details?.name !== undefined) return undefined;
  return kindMissing(error, context);
}

function kindMissing(error: StatusError, { resource, target }: SyncErrorContext): SyncError {
  const name = formatResource(resource);
  const message = `the cluster does not serve ${name}; install it in SyncTarget ${target}, or take ${name} off the list of what is synced`;
  return new SyncError("KindMissing", message, { scope: "kind", cause: error });
}

function unreachable(error: unknown, { target }: SyncErrorContext): SyncError {
  const message = `SyncTarget ${target} does not answer (${short(error)}); nothing is changed until it does`;
  return new SyncError("Unreachable", message, { scope: "connection", cause: error });
}

/** The length of a cluster's message that is repeated on the object. */
const wordsCharactersMax = 400;

function short(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > wordsCharactersMax ? `${text.slice(0, wordsCharactersMax)}…` : text;
}
