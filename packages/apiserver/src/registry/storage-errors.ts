/** Converts a StorageError to the Status that a client gets; the only such place. */
import { type GroupResource, StatusError, statusError } from "@kcp-ts/machinery/status";
import { isStorageError } from "../storage/index.ts";

export interface FailedRead {
  readonly resource: Pick<GroupResource, "resource">;
  /** The resourceVersion of the request, as sent. */
  readonly askedVersion?: string | undefined;
}

export function fromStorageError(error: unknown, { resource, askedVersion }: FailedRead): unknown {
  if (!isStorageError(error)) return error;
  switch (error.code) {
    case "compacted":
      return statusError.expired(
        `too old resource version: ${askedVersion ?? "unknown"} (${error.oldest ?? "unknown"})`,
      );
    case "future":
      return statusError.resourceVersionTooLarge(Number(askedVersion ?? 0), error.current ?? 0);
    case "overrun":
      return statusError.expired("the watch fell too far behind and was ended");
    case "too-large":
      return statusError.tooLarge("the object does not fit into the store");
    case "moving":
      return movingError();
    case "closed":
      return statusError.unavailable("the server is stopping");
    case "unavailable":
      // No cause: faults of the store are logged with a rate limit, not once for every rejected
      // request.
      return new StatusError({
        code: 500,
        reason: "InternalError",
        message:
          "Internal error occurred: the store cannot take this request now; see the server's log",
        details: { kind: resource.resource, causes: [{ message: unavailable }] },
      });
    case "corrupt":
      return statusError.internal("stored data is damaged; see the server's log", error);
    case "conflict":
      return statusError.internal("a write conflict was not handled", error);
  }
}

/** Clients that honour Retry-After send the write again, and reach the shard that accepts it. */
function movingError(): StatusError {
  return new StatusError({
    code: 503,
    reason: "ServiceUnavailable",
    message: "the workspace moves to another shard: try again",
    details: { retryAfterSeconds: 1 },
  });
}

const unavailable = "storage unavailable";

/** Whether a request was rejected because the store is unavailable. */
export function isStoreUnavailable(error: StatusError): boolean {
  return error.status.details?.causes?.[0]?.message === unavailable;
}

export async function translateStorageErrors<Result>(
  context: FailedRead,
  body: () => Promise<Result>,
): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    throw fromStorageError(error, context);
  }
}
