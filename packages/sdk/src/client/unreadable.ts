/**
 * Objects of a list or a watch that cannot be parsed: with an `onUnreadable` callback each of them
 * is left out and reported; without it one of them fails the list or the watch.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
} from "@kcp-ts/machinery/json";

export class UnreadableObjectError extends Error {
  override readonly name = "UnreadableObjectError";
}

export type OnUnreadable = (error: UnreadableObjectError) => void;

/**
 * The result of `read` for one object, or undefined after the failure was reported to
 * `onUnreadable`.
 */
export function readObjectOrSkip(
  read: () => JsonValue,
  isObject: (value: JsonObject) => boolean,
  onUnreadable: OnUnreadable,
): JsonObject | undefined {
  try {
    return objectOnly(read(), isObject);
  } catch (error) {
    onUnreadable(unreadable(error));
    return undefined;
  }
}

/** The same for a read that yields to the event loop. */
export function* readObjectOrSkipResumable(
  read: Resumable<JsonValue>,
  isObject: (value: JsonObject) => boolean,
  onUnreadable: OnUnreadable,
): Resumable<JsonObject | undefined> {
  try {
    return objectOnly(yield* read, isObject);
  } catch (error) {
    onUnreadable(unreadable(error));
    return undefined;
  }
}

function objectOnly(value: JsonValue, isObject: (value: JsonObject) => boolean): JsonObject {
  if (isJsonObject(value) && isObject(value)) return value;
  throw new UnreadableObjectError("the server sent an object without metadata");
}

/** Rethrows every other error. */
function unreadable(error: unknown): UnreadableObjectError {
  if (error instanceof UnreadableObjectError) return error;
  if (!(error instanceof JsonSyntaxError)) throw error;
  const message = `the server sent an object that is not JSON: ${error.message}`;
  return new UnreadableObjectError(message, { cause: error });
}

export function hasMetadata(object: JsonObject): boolean {
  return isJsonObject(object["metadata"]);
}
