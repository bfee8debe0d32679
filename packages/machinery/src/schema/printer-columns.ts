/** Additional printer columns of a CRD version: table headers, and the cells of an object. */
import { isBoundExceeded, WorkBudget, workBounds } from "../bounds/index.ts";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { canonicalJson } from "./canonical.ts";
import type { PrinterColumn } from "./crd.ts";
import { formatGoFloat } from "./go-number.ts";
import { humanDuration } from "./human-duration.ts";
import { JsonPathError, type PathNode, parseJsonPath } from "./json-path.ts";
import { evaluateJsonPath } from "./json-path-eval.ts";

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export type Cell = string | number | bigint | boolean | null;

export interface PrinterColumns {
  /** Without the leading name column, which every table has. */
  readonly definitions: readonly ColumnDefinition[];
  /** A column that exceeds the remaining budget is empty, and so are those after it. */
  cells(object: JsonObject, nowMs: number, budget?: WorkBudget): Cell[];
}

const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  format: "",
  description: "",
  priority: 0,
  jsonPath: ".metadata.creationTimestamp",
};

/**
 * Without columns there is Age. A column whose path cannot be parsed and the columns after it are
 * left out, as kube-apiserver leaves them out: a CustomResourceDefinition may have such a path.
 */
export function compilePrinterColumns(columns: readonly PrinterColumn[]): PrinterColumns {
  const compiled: { readonly column: PrinterColumn; readonly path: readonly PathNode[] }[] = [];
  for (const column of columns.length === 0 ? [ageColumn] : columns) {
    const path = parseColumnPath(column.jsonPath);
    if (path === undefined) break;
    compiled.push({ column, path });
  }
  return {
    definitions: compiled.map(({ column }) => ({
      name: column.name,
      type: column.type,
      format: column.format,
      description:
        column.description !== ""
          ? column.description
          : `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
      priority: column.priority,
    })),
    cells: (object, nowMs, budget = new WorkBudget(workBounds.tableRow)) =>
      compiled.map(({ column, path }) => cellWithin(budget, column, path, object, nowMs)),
  };
}

function cellWithin(
  budget: WorkBudget,
  { type }: PrinterColumn,
  path: readonly PathNode[],
  object: JsonObject,
  nowMs: number,
): Cell {
  try {
    const value = firstResult(path, object, budget);
    if (type === "string" && value !== undefined) chargeText(value, budget);
    return cellOf(type, value, nowMs);
  } catch (error) {
    if (isBoundExceeded(error)) return null;
    throw error;
  }
}

/**
 * The length of a value's text, before it is created: many columns may show the same large value.
 */
function chargeText(value: JsonValue, budget: WorkBudget): void {
  if (typeof value === "string") budget.charge(value.length >> 4);
  else if (Array.isArray(value)) {
    budget.charge(value.length);
    for (const item of value as readonly JsonValue[]) chargeText(item, budget);
  } else if (typeof value === "object" && value !== null)
    for (const key in value) {
      budget.charge(1 + (key.length >> 4));
      chargeText((value as JsonObject)[key] as JsonValue, budget);
    }
}

/** The value of a selectable field for field selectors; `""` when absent. */
export function selectableFieldValue(path: readonly PathNode[], object: JsonObject): string {
  const budget = new WorkBudget(workBounds.path);
  const value = firstResult(path, object, budget);
  return value === undefined || value === null ? "" : goText(value);
}

function parseColumnPath(text: string): readonly PathNode[] | undefined {
  try {
    return parseJsonPath(text);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

/** Undefined when there is none, or when the path does not match the object. */
function firstResult(
  path: readonly PathNode[],
  object: JsonObject,
  budget: WorkBudget,
): JsonValue | undefined {
  try {
    return evaluateJsonPath(path, object, budget)[0];
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function cellOf(type: string, value: JsonValue | undefined, nowMs: number): Cell {
  if (value === undefined) return null;
  switch (type) {
    case "string":
      return value === null ? "<no value>" : goText(value);
    case "integer":
      if (typeof value === "number") return Math.trunc(value);
      return typeof value === "bigint" ? value : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? age(value, nowMs) : null;
    default:
      return null;
  }
}

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

function age(text: string, nowMs: number): string {
  if (text === "" || text === "null" || text === "0001-01-01T00:00:00Z") return "<unknown>";
  const time = timePattern.test(text) ? Date.parse(text.replace(",", ".")) : Number.NaN;
  return Number.isNaN(time) ? "<invalid>" : humanDuration(nowMs - time);
}

/** A value as Go prints it; objects and arrays as compact JSON. */
function goText(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
      return Number.isSafeInteger(value) ? String(value) : formatGoFloat(value);
    case "object":
      return value === null ? "<nil>" : canonicalJson(value);
    default:
      return String(value);
  }
}
