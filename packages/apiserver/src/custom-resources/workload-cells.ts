/** What the columns of workload kinds read from an object. Pure. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { age, humanDuration } from "@kcp-ts/machinery/table";

export type Cell = (object: JsonObject, nowMs: number) => JsonValue;
/** Priority 1 is shown in wide output only. */
export type Column = readonly [name: string, type: string, cell: Cell, priority?: number];

export const none = "<none>";

export function at(object: JsonObject, ...path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

export function number(object: JsonObject, ...path: readonly string[]): number {
  const value = at(object, ...path);
  return typeof value === "number" ? value : 0;
}

/** `<none>` where there is nothing. */
export function words(object: JsonObject, ...path: readonly string[]): string {
  const value = at(object, ...path);
  return typeof value === "string" && value !== "" ? value : none;
}

export function items(object: JsonObject, ...path: readonly string[]): readonly JsonObject[] {
  const value = at(object, ...path);
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}

export function since(object: JsonObject, nowMs: number, ...path: readonly string[]): string {
  return age(at(object, ...path) as string | undefined, nowMs);
}

export function between(from: JsonValue | undefined, to: JsonValue | undefined, nowMs: number) {
  if (typeof from !== "string") return "";
  const end = typeof to === "string" ? Date.parse(to) : nowMs;
  return humanDuration(end - Date.parse(from));
}

export function hasCondition(object: JsonObject, type: string): boolean {
  return items(object, "status", "conditions").some(
    (condition) => condition["type"] === type && condition["status"] === "True",
  );
}

export const ageColumn: Column = [
  "Age",
  "string",
  (object, nowMs) => since(object, nowMs, "metadata", "creationTimestamp"),
];

/** `a=b,c=d`, in the order of the names. */
export function labelsText(labels: JsonValue | undefined): string {
  if (!isJsonObject(labels)) return none;
  const shown = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${String(labels[key])}`);
  return shown.length === 0 ? none : shown.join(",");
}

/** A label selector as kubectl writes it. */
export function selectorText(selector: JsonValue | undefined): string {
  if (!isJsonObject(selector)) return none;
  const labels = labelsText(selector["matchLabels"]);
  const parts = labels === none ? [] : [labels];
  for (const { key, operator, values } of items(selector, "matchExpressions")) {
    const listed = Array.isArray(values) ? ` (${[...values].map(String).sort().join(",")})` : "";
    if (operator === "In") parts.push(`${String(key)} in${listed}`);
    else if (operator === "NotIn") parts.push(`${String(key)} notin${listed}`);
    else parts.push(operator === "DoesNotExist" ? `!${String(key)}` : String(key));
  }
  return parts.length === 0 ? none : parts.join(",");
}

/** Names and images of the containers of a template, and what it selects. */
export function templateColumns(
  template: readonly string[],
  selector?: readonly string[],
): readonly Column[] {
  const listed = (key: "name" | "image"): Cell => {
    return (object) =>
      items(object, ...template, "spec", "containers")
        .map((container) => String(container[key]))
        .join(",");
  };
  const columns: Column[] = [
    ["Containers", "string", listed("name"), 1],
    ["Images", "string", listed("image"), 1],
  ];
  if (selector !== undefined)
    columns.push(["Selector", "string", (object) => selectorText(at(object, ...selector)), 1]);
  return columns;
}
