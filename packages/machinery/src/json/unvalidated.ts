/** Reads values that nothing has validated: an absent value, or one of another type, is empty. */
import { isJsonObject, type JsonObject, type JsonValue } from "./value.ts";

export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** The strings of a list. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return listOf(value).filter((item) => typeof item === "string");
}

/** The objects of a list. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return listOf(value).filter(isJsonObject);
}
