/** Table and PartialObjectMetadata: the forms that kubectl and metadata clients request. */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../registry/index.ts";
import { TableBudget } from "./table-budget.ts";

export type IncludeObject = "None" | "Metadata" | "Object";

export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "") return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  throw statusError.badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

export interface TableOptions {
  readonly version: string;
  readonly includeObject: IncludeObject;
  readonly nowMs: number;
}

export function tableOf(
  definition: ResourceDefinition,
  objects: readonly JsonObject[],
  metadata: JsonObject,
  form: TableOptions & { readonly withColumns: boolean },
): JsonObject {
  return runSync(tableResumable(definition, objects, metadata, form));
}

/**
 * Yields to the event loop between rows: columns that a tenant defines may take milliseconds for
 * each.
 */
export function* tableResumable(
  definition: ResourceDefinition,
  objects: readonly JsonObject[],
  metadata: JsonObject,
  form: TableOptions & { readonly withColumns: boolean },
): Resumable<JsonObject> {
  const budget = new TableBudget();
  const rows: JsonObject[] = [];
  for (const object of objects) {
    rows.push(rowOf(definition, object, form, budget));
    yield;
  }
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${form.version}`,
    metadata,
    columnDefinitions: (form.withColumns
      ? definition.strategy.columns
      : null) as unknown as JsonValue,
    rows,
  };
}

export function rowOf(
  definition: ResourceDefinition,
  object: JsonObject,
  form: TableOptions,
  budget: TableBudget,
): JsonObject {
  const cells = budget.row((units) => definition.strategy.cells(object, form.nowMs, units));
  switch (form.includeObject) {
    case "None":
      return { cells, object: null };
    case "Metadata":
      return { cells, object: partialMetadataOf(object, form.version) };
    case "Object":
      return { cells, object };
  }
}

export function partialMetadataOf(object: JsonObject, version: string): JsonObject {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: `meta.k8s.io/${version}`,
    metadata: object["metadata"] as JsonObject,
  };
}

export function toBytes(value: JsonValue): Buffer {
  return Buffer.from(stringifyJson(value));
}
