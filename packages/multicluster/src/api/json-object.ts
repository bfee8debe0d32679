/** JSON that anybody may have written, in annotations and tokens: what is no object is read as nothing. */
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
