/**
 * Objects of a list or a watch that cannot be read: each fails alone if somebody wants to hear of it, and with all the others if nobody does.
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

/** What `read` makes of one object, or undefined when that is none and `onUnreadable` was told. */
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

/** The same with rests. */
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

/** Whatever else went wrong goes on. */
function unreadable(error: unknown): UnreadableObjectError {
  if (error instanceof UnreadableObjectError) return error;
  if (!(error instanceof JsonSyntaxError)) throw error;
  const message = `the server sent an object that is not JSON: ${error.message}`;
  return new UnreadableObjectError(message, { cause: error });
}

export function hasMetadata(object: JsonObject): boolean {
  return isJsonObject(object["metadata"]);
}
