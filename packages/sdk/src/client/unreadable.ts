/**
 * Objects of a list or a watch that cannot be read: each fails alone if somebody wants to hear of it, and with all the others if nobody does.
 */
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
export function readAlone(
  read: () => JsonValue,
  isObject: (value: JsonObject) => boolean,
  onUnreadable: OnUnreadable,
): JsonObject | undefined {
  try {
    const value = read();
    if (isJsonObject(value) && isObject(value)) return value;
    onUnreadable(new UnreadableObjectError("the server sent an object without metadata"));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const message = `the server sent an object that is not JSON: ${error.message}`;
    onUnreadable(new UnreadableObjectError(message, { cause: error }));
  }
  return undefined;
}

export function hasMetadata(object: JsonObject): boolean {
  return isJsonObject(object["metadata"]);
}
