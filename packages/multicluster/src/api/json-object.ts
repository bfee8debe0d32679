/**
 * JSON from annotations and tokens, which any user may have written: a text that is not a JSON
 * object is read as undefined.
 */
import { isJsonObject, type JsonObject, parseJson } from "@kcp-ts/machinery/json";

export function jsonObjectOf(
  text: string | undefined,
  charactersMax = Number.POSITIVE_INFINITY,
): JsonObject | undefined {
  if (text === undefined || text.length > charactersMax) return undefined;
  try {
    const { value } = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof Error && error.name === "JsonSyntaxError") return undefined;
    throw error;
  }
}
