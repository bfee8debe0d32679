/**
 * Objects as YAML for people: block style, long texts as blocks. The server reads what was edited,
 * so nothing here parses YAML.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";

export function formatYaml(value: JsonValue): string {
  return `${lines(value, 0).join("\n")}\n`;
}

function lines(value: JsonValue, depth: number): string[] {
  const indent = "  ".repeat(depth);
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      if (isEmptyOrScalar(item)) return [`${indent}- ${scalar(item, depth + 1)}`];
      const [first = "", ...rest] = lines(item, depth + 1);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  if (typeof value !== "object" || value === null) return [`${indent}${scalar(value, depth)}`];
  return Object.entries(value).flatMap(([key, item]) => {
    if (item === undefined) return [];
    const name = `${indent}${scalar(key, depth)}:`;
    if (isEmptyOrScalar(item)) return [`${name} ${scalar(item, depth + 1)}`];
    return [name, ...lines(item, Array.isArray(item) ? depth : depth + 1)];
  });
}

function isEmptyOrScalar(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

/** Words that YAML readers take for something else than text. */
const notText = /^(?:|~|null|true|false|yes|no|on|off|y|n|[-+.]?(?:\d|\.inf|\.nan).*|0[xo].*)$/i;
const plainText = /^[\w./][\w./@$%()+,;=^-]*(?: [\w./@$%()+,;=^-]+)*$/;

function scalar(value: JsonValue | undefined, depth: number): string {
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object" && value !== null) return "{}";
  if (typeof value !== "string") return String(value ?? null);
  if (plainText.test(value) && !notText.test(value)) return value;
  const isBlock = value.includes("\n") && /^[^\s]/.test(value) && !/[^\P{C}\n\t]| $/mu.test(value);
  if (!isBlock) return JSON.stringify(value);
  const indent = "  ".repeat(depth);
  const keep = value.endsWith("\n\n") ? "+" : value.endsWith("\n") ? "" : "-";
  const text = value.replace(/\n$/, "").split("\n");
  return `|${keep}\n${text.map((line) => (line === "" ? "" : indent + line)).join("\n")}`;
}
