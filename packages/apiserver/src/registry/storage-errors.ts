/** The one place where a StorageError becomes the Status that a client gets. */
import { type GroupResource, StatusError, statusError } from "@kcp-ts/machinery/status";
import { isStorageError } from "../storage/index.ts";

export interface FailedRead {
  readonly resource: Pick<GroupResource, "resource">;
  /** The revision that the client asked for, as it wrote it. */
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
    case "closed":
      return statusError.unavailable("the server is stopping");
    case "unavailable":
      // No cause: what is wrong with the store is logged now and then, not once for every request that it refuses.
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

const unavailable = "storage unavailable";

/** Whether a client was refused because the store does not answer. */
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
