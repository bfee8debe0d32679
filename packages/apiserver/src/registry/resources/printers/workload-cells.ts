/** The cells of workload kinds' columns, computed from an object. Pure. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { age, humanDuration } from "@kcp-ts/machinery/table";

export type Cell = (object: JsonObject, nowMs: number) => JsonValue;
/** Priority 1 is shown in wide output only. */
export type Column = readonly [name: string, type: string, cell: Cell, priority?: number];

export const noneText = "<none>";

export function memberAt(object: JsonObject, ...path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

export function numberAt(object: JsonObject, ...path: readonly string[]): number {
  const value = memberAt(object, ...path);
  return typeof value === "number" ? value : 0;
}

/** `<none>` where there is no value. */
export function textOrNoneAt(object: JsonObject, ...path: readonly string[]): string {
  const value = memberAt(object, ...path);
  return typeof value === "string" && value !== "" ? value : noneText;
}

/** Empty where there is no value. */
export function textAt(object: JsonObject, ...path: readonly string[]): string {
  const value = memberAt(object, ...path);
  return typeof value === "string" ? value : "";
}

/** Scalars only: an object may have a member `toString`. */
export function scalarText(value: JsonValue | undefined): string {
  return typeof value === "object" || value === undefined ? "" : String(value);
}

export function itemsAt(object: JsonObject, ...path: readonly string[]): readonly JsonObject[] {
  const value = memberAt(object, ...path);
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}

export function ageAt(object: JsonObject, nowMs: number, ...path: readonly string[]): string {
  return age(memberAt(object, ...path) as string | undefined, nowMs);
}

export function durationText(
  from: JsonValue | undefined,
  to: JsonValue | undefined,
  nowMs: number,
) {
  if (typeof from !== "string") return "";
  const end = typeof to === "string" ? Date.parse(to) : nowMs;
  return humanDuration(end - Date.parse(from));
}

export function hasCondition(object: JsonObject, type: string): boolean {
  return itemsAt(object, "status", "conditions").some(
    (condition) => condition["type"] === type && condition["status"] === "True",
  );
}

export const ageColumn: Column = [
  "Age",
  "string",
  (object, nowMs) => ageAt(object, nowMs, "metadata", "creationTimestamp"),
];

/** `a=b,c=d`, in the order of the names. */
export function labelsText(labels: JsonValue | undefined): string {
  if (!isJsonObject(labels)) return noneText;
  const shown = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${scalarText(labels[key])}`);
  return shown.length === 0 ? noneText : shown.join(",");
}

/** A label selector in kubectl's notation. */
export function selectorText(selector: JsonValue | undefined): string {
  if (!isJsonObject(selector)) return noneText;
  const labels = labelsText(selector["matchLabels"]);
  const parts = labels === noneText ? [] : [labels];
  for (const { key, operator, values } of itemsAt(selector, "matchExpressions")) {
    const listed = Array.isArray(values) ? ` (${values.map(scalarText).sort().join(",")})` : "";
    if (operator === "In") parts.push(`${scalarText(key)} in${listed}`);
    else if (operator === "NotIn") parts.push(`${scalarText(key)} notin${listed}`);
    else parts.push(`${operator === "DoesNotExist" ? "!" : ""}${scalarText(key)}`);
  }
  return parts.length === 0 ? noneText : parts.join(",");
}

/** Names and images of the containers of a Pod template, and its selector. */
export function templateColumns(
  template: readonly string[],
  selector?: readonly string[],
): readonly Column[] {
  const listed = (key: "name" | "image"): Cell => {
    return (object) =>
      itemsAt(object, ...template, "spec", "containers")
        .map((container) => scalarText(container[key]))
        .join(",");
  };
  const columns: Column[] = [
    ["Containers", "string", listed("name"), 1],
    ["Images", "string", listed("image"), 1],
  ];
  if (selector !== undefined)
    columns.push([
      "Selector",
      "string",
      (object) => selectorText(memberAt(object, ...selector)),
      1,
    ]);
  return columns;
}
