/** Table and PartialObjectMetadata: the forms that kubectl and metadata clients ask for. */
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../registry/index.ts";

export type IncludeObject = "None" | "Metadata" | "Object";

export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "") return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  throw statusError.badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

export interface TableForm {
  readonly version: string;
  readonly includeObject: IncludeObject;
  readonly nowMs: number;
}

export function tableOf(
  definition: ResourceDefinition,
  objects: readonly JsonObject[],
  metadata: JsonObject,
  form: TableForm & { readonly withColumns: boolean },
): JsonObject {
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${form.version}`,
    metadata,
    columnDefinitions: (form.withColumns
      ? definition.strategy.columns
      : null) as unknown as JsonValue,
    rows: objects.map((object) => rowOf(definition, object, form)),
  };
}

export function rowOf(
  definition: ResourceDefinition,
  object: JsonObject,
  form: TableForm,
): JsonObject {
  const cells = definition.strategy.cells(object, form.nowMs);
  switch (form.includeObject) {
    case "None":
      return { cells, object: null };
    case "Metadata":
      return { cells, object: partialOf(object, form.version) };
    case "Object":
      return { cells, object };
  }
}

export function partialOf(object: JsonObject, version: string): JsonObject {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: `meta.k8s.io/${version}`,
    metadata: object["metadata"] as JsonObject,
  };
}

export function toBytes(value: JsonValue): Buffer {
  return Buffer.from(stringifyJson(value));
}
