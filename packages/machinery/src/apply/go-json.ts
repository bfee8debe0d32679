/**
 * JSON as Go's encoder writes it: members sorted, HTML characters escaped.
 *
 * Path elements and the last-applied annotation contain such text, and clients compare it byte by
 * byte.
 */
import { isJsonObject, type JsonValue } from "../json/index.ts";
import { compareText } from "./compare-text.ts";

export function stringifyGo(value: JsonValue): string {
  if (typeof value === "string") return stringifyText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (!isJsonObject(value)) return `[${value.map(stringifyGo).join(",")}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort(compareText)) {
    members.push(`${stringifyText(key)}:${stringifyGo(value[key] as JsonValue)}`);
  }
  return `{${members.join(",")}}`;
}

const special = /[<>&\u2028\u2029\b\f]/;
const specials = /[<>&\u2028\u2029]|\\[bf]|\\\\/g;

function stringifyText(text: string): string {
  const json = JSON.stringify(text);
  if (!special.test(text)) return json;
  return json.replace(specials, (found) => {
    if (found === "\\\\") return found;
    const code = found === "\\b" ? 8 : found === "\\f" ? 12 : found.charCodeAt(0);
    return `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
